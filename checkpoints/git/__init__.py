"""Git's formats, read and written without running a program of the repository's choosing.

effective_user  libgit2 in a process of two users
git_command     the only place that runs git as a program
library         loading of libgit2 without the machine's certificates
object_reader   the objects of a store, read from its packs, from the project's repository that it borrows from, or
                from the log
objects         Git objects as bytes
pack            one capture is one pack
sealed_pack     packs that are sealed: each object by itself, and what there is behind them
trees           folders as trees
"""
