"""Checks that hold for every program: what its surroundings, its words and its input say.

carried      secrets on their way to another machine, by a variable, by what prints it, or by a file
code         code given to an interpreter
environment  variables that change what a harmless command runs
guard        the guard's own processes, picked out of a list and ended
lists        what a list names: people who are written to, and jobs or processes that are ended
lookalikes   letters that look like others, and characters that hide text from people
packages     packages that are fetched and run by their name alone
pages        pages in a browser that a tool steers
people       messages that reach many people at once
secrets      secrets named anywhere among a command's words, in its code, or in the list of files that it is handed
sending      data sent to other machines
services     tools of others' services, by their names and plain fields
shells       shells: scripts that run unread, parts that cannot be followed, and shells handed to other programs
statements   statements typed at clients of stores, of files elsewhere, and at bare connections
trial        names of what is for tests or development
verbs        programs without a description
"""
