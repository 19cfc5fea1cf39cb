"""Code given to interpreters: what it would run, delete, write, read and connect to.

interpreters  the code given to an interpreter
others        perl, Ruby, JavaScript, PHP, Lua, R, Julia, Tcl, PowerShell and others
projects      programs that run what a project's own files name
python        Python by its syntax tree
recipes       files of a project that name commands which others run
uses          the effects of a piece of code, as far as its text shows
"""
