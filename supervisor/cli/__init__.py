"""The command `chaperon`: what its commands share. The commands themselves are in `commands`.

commands/       the commands, one a module
agent_words     facts about an agent for people
asking          actions that wait for a person, shown as a question on the terminal of a run that is followed
charts          charts as SVG: bars, and lines over time
client          the client of the daemon
client_errors   the failures of conversations with the daemon
common          shared parts of the commands
following       streams of the daemon as commands read them
html_file       HTML files that need nothing else
incident_words  the full report of an incident for people
many            controls that are given to one agent by name, to all, or to those of a repository
progress        progress of long work: a line on a terminal, few lines elsewhere
settings_words  settings of a repository, described for people
signals         signals as something to be waited for beside a connection, by a command that ends in order
streams         commands that follow
tables          tables that fit their contents and the terminal
task_options    options by which a command says what a task is, and how its agent works
terminal        the only output of commands to the terminal
times           times as people write them
words           text of others as commands show it
"""
