"""The wire and the journal: what the CLI says and is told, the commands of the core, and the events that are kept.

Pure: no file, clock, process or randomness is touched from here, and a test keeps it so.

commands  what the core asks the runtime to do
control   what is written to the CLI
events    facts, as the journal keeps them
export    what an exporter of the audit record is given, and must be
identity  who the processes of a launch are
lines     bytes to lines
messages  lines of the CLI to typed messages
moments   where a run is when a checkpoint is asked for
plain     text from outside without what a terminal obeys
prices    tokens, and what they cost
records   one event as one line of the journal
retrying  what the CLI says while the API does not answer
settings  what the settings of a repository bring into the CLI
words     enumerations: states of agents, steps of a stop
"""
