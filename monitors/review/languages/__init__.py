"""Code given to interpreters: what it would run, delete, write, read and connect to.

interpreters  which code an interpreter is given
others        perl, Ruby, JavaScript, PHP, Lua, R, Julia, Tcl, PowerShell and others
python        python by its syntax tree
uses          what a piece of code does, as far as its text says
"""
