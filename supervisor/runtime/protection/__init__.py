"""Data protection: records are masked before they are written, and what going on needs in full is kept apart, sealed.

keys       the key of marks and seals: where it comes from, and how a lost one is told
outputs    the seals of what CLIs print
protector  what the writers of records hold: masks, and keeps what is needed in full until its owner has ended
vault      values in full, sealed, one file an owner
"""
