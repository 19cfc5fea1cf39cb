"""Bash as the reviewer reads it: text to a tree, and the tree to the commands that would run.

constant    what simple commands print, where that follows from the text alone
expand      expansion
invocation  one command that would run, with everything the reviewer asks of it
launch      looking through launchers
launchers   programs that start another program
reader      reads Bash leniently and in linear work
shells      how a shell is used
tree        what the reader makes of a script
walk        goes through a script in the order it would run, and hands over each command that would start
words       reads the words of Bash
"""
