"""The state of a script as it goes on: the shell, the files, and what is known of both.

bounds       bounds of what is gone through, and the first that was passed
constant     the output of simple commands that follows from their text alone
copying      programs that copy, link and unpack
effects      effects of commands on those after them
expander     expansion of what a script writes, in the state of the shell
folders      what scripts ask of places: the working directory, links followed, a repository's root
input_words  words that commands make of their input: the variables of `read`, and what `xargs` adds
overlay      the files of an action as it goes on
rows         a command that is gone through once for each row of values
shell_state  the working directory, variables, functions and aliases
texts        texts that are known: of files, of what commands print and read
turns        variables that are each of several values in turn: of loops, of `read`, of `xargs`
"""
