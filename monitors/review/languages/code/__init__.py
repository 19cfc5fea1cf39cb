"""Code as far as its text shows: what it would run, delete, write, read and connect to.

constants  an evaluator of constants for Python
folding    texts of other languages that are put together of known pieces
literals   commands among the texts of code, whatever its language is
loops      loops over texts that stand in code, written out
others     perl, Ruby, JavaScript, PHP, Lua, R, Julia, Tcl, PowerShell and others
payments   code that has money moved, or writes to many people
python     Python by its syntax tree
sinks      calls of Python that reach beyond the program
uses       the effects of a piece of code, as far as its text shows
"""
