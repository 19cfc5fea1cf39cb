"""Code given to interpreters: what it would run, delete, write, read and connect to.

builds        programs that build, test or run sources that they are not given by name
compilers     code that the action writes and has compiled
constants     an evaluator of constants for Python
embedded      commands within the words of other programs
folding       texts of other languages that are put together of known pieces
interpreters  the code given to an interpreter
literals      commands among the texts of code, whatever its language is
named_files   programs that run files of a project by the names that these have
others        perl, Ruby, JavaScript, PHP, Lua, R, Julia, Tcl, PowerShell and others
projects      programs that run what a project's own files name
python        Python by its syntax tree
recipes       files of a project that name commands which others run
sinks         calls of Python that reach beyond the program
uses          the effects of a piece of code, as far as its text shows
"""
