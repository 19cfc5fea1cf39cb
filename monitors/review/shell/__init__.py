"""Bash as the reviewer reads it: text to a tree, and the tree to the commands that would run.

state/        the state of a script as it goes on: the shell, the files, and what is known of both
endless       loops of a script that nothing ends
expand        expansion: what a word becomes once variables, substitutions and braces are replaced, as far as is known
invocation    one command that would run, with everything the reviewer asks of it
launch        looking through launchers
launchers     how the command line of a program is laid out that starts another program
reader        reads Bash leniently and in linear work
secret_names  names of variables that hold secrets
shells        how a shell is used
tree          the syntax tree of a script
values        values of variables
walk          goes through a script in the order it would run, and hands over each command that would start
words         reads the words of Bash
"""
