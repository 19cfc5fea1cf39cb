"""The command `chaperon`: what its commands share. The commands themselves are in `commands`.

commands/       the commands, one a module
agent_words     what is known of an agent, for people
asking          actions that wait for a person, asked about on the terminal of a run that is followed
client          speaking with the daemon
common          what the commands share
following       streams of the daemon as commands read them
incident_words  the full report of an incident for people
settings_words  what people are told that settings of a repository bring
signals         signals as something to be waited for beside a connection, by a command that ends in order
streams         commands that follow
tables          tables that fit their contents and the terminal
terminal        what reaches the terminal
times           times as people write them
words           text of others as commands show it
"""
