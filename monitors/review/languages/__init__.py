"""Code given to interpreters: what it would run, delete, write, read and connect to.

interpreters  the code given to an interpreter
others        perl, Ruby, JavaScript, PHP, Lua, R, Julia, Tcl, PowerShell and others
python        Python by its syntax tree
uses          the effects of a piece of code, as far as its text shows
"""
