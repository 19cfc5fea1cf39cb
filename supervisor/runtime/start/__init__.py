"""The way in. `chaperon.py` here is installed as a module of the top level, so that it can be reached whatever owns `supervisor`.

chaperon  the command `chaperon`
"""
