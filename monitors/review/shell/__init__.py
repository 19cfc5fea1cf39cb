"""Bash as the reviewer reads it: text to a tree, and the tree to the commands that would run.

constant    the output of simple commands that follows from their text alone
copying     programs that copy, link and unpack
expand      expansion: what a word becomes once variables, substitutions and braces are replaced, as far as that is
            known
folders     what scripts ask of places: the working directory, links followed, a repository's root
input_words  words that commands make of their input: the variables of `read`, and what `xargs` adds
invocation  one command that would run, with everything the reviewer asks of it
launch      looking through launchers
launchers   how the command line of a program is laid out that starts another program
overlay     the files of an action as it goes on
reader      reads Bash leniently and in linear work
secret_names  names of variables that hold secrets
shells      how a shell is used
tree        the syntax tree of a script
turns       variables that are each of several values in turn: of loops, of `read`, of `xargs`
walk        goes through a script in the order it would run, and hands over each command that would start
words       reads the words of Bash
"""
