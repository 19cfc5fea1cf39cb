"""Data protection: records are masked before they are written, and what going on needs in full is kept apart, sealed.

keys       the key of marks and seals: where it comes from, how a lost one is told, and the slots that open the ring
outputs    the seals of what CLIs print
protector  what the writers of records hold: masks, and keeps what is needed in full until its owner has ended
sealing    seals of bytes under one key, bound to what stands beside them
seals      records sealed at rest, by a ring of data keys
vault      values in full, sealed, one file an owner
"""
