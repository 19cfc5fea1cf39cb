"""The entry point. `chaperon.py` here is installed as a top-level module.

It can be reached whichever distribution owns `supervisor`.

chaperon  the command `chaperon`
"""
