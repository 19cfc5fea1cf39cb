"""Programs whose effect depends on which paths they are given, a module for each kind of doing.

coreutils  the core tools that change files
deleting   deleting: decided for each operand, and the worst counts
outputs    programs that write where an option says, and programs that are handed the name of what starts by itself
patching   patches: the files that a text says to change
told       words that a command prints out of a small file
unheld     data in the workspace that no checkpoint holds
writing    writing to a path, by whatever program
"""
