"""Git's formats, read and written without running a program of the repository's choosing.

git_command    the one door to git as a program
object_reader  the objects of a store, as they are read
objects        Git objects as bytes
pack           one capture is one pack
trees          folders as trees
"""
