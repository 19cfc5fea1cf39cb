"""Code given to interpreters: what it would run, delete, write, read and connect to.

build_files    build files: makefiles and justfiles
builds         programs that build, test or run sources that they are not given by name
compilers      code that the action writes and has compiled
constants      an evaluator of constants for Python
containers     files of services and pods, by the rights that they give to containers
embedded       commands within the words of other programs
folding        texts of other languages that are put together of known pieces
images         images that are built here and run here
interpreters   the code given to an interpreter
literals       commands among the texts of code, whatever its language is
loops          loops over texts that stand in code, written out
named_files    programs that run files of a project by the names that these have
others         perl, Ruby, JavaScript, PHP, Lua, R, Julia, Tcl, PowerShell and others
payments       code that has money moved, or writes to many people
playbooks      playbooks of Ansible for this machine
project_files  files of a project that name commands which others run
projects       programs that run what a project's own files name
python         Python by its syntax tree
recipes        recipes: commands that files have others run, and those of a `package.json`
sinks          calls of Python that reach beyond the program
uses           the effects of a piece of code, as far as its text shows
"""
