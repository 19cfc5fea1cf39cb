"""The command `chaperon`: what its commands share. The commands themselves are in `commands`.

commands/      the commands, one a module
output/        the output of commands: words, tables, charts, and the one way to the terminal
asking         actions that wait for a person, shown as a question on the terminal of a run that is followed
client         the client of the daemon
client_errors  the failures of conversations with the daemon
common         shared parts of the commands
following      streams of the daemon as commands read them
many           controls that are given to one agent by name, to all, or to those of a repository
signals        signals as something to be waited for beside a connection, by a command that ends in order
streams        commands that follow
task_options   options by which a command says what a task is, and how its agent works
"""
