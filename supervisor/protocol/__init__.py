"""The wire and the journal: messages from and to the CLI, the commands of the core, and the events that are kept.

Pure: no file, clock, process or randomness is used here, and a test ensures it.

claude/    the words of the Claude CLI
kinds/     the kinds of events, by what they are about
commands   commands of the core to the runtime
events     facts, as the journal keeps them
export     the contract of an exporter, which sends the audit record to another system
identity   the identity of a launch's processes, by which they are recognised and never mistaken for others
lines      bytes to lines
merges     checks and merges
moments    a moment of a run, as the core knows it at a checkpoint
plain      text from outside, made plain
projects   the words of project checkpoints
records    journal lines: one event, one line of JSON, with a sequence number, a chain and a checksum
rollbacks  one declaration of how a person wants to go back, for the route, the journal's event and the command
tasks      the words of stored tasks, which exist apart from the agents that try them
words      the enumerations that names, messages, the socket API and the docs share
"""
