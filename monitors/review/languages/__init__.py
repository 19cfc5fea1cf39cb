"""Code given to interpreters: what it would run, delete, write, read and connect to.

code/         the languages themselves, as far as the text of code shows
compilers     code that the action writes and has compiled
embedded      commands within the words of other programs
interpreters  the code given to an interpreter
project/      files of a project that have programs run what no command names
"""
