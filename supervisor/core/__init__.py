"""Pure: events in, commands out. A session folds what happens to one agent, and decides what is due.

decisions/  what is due, by what is known
fold/       what a session knows of its agent
observing/  lines of the CLI become observations, which detectors read
replay/     recorded runs played again
board       the board
bypass      calls that ran against the gate's word, or without it
costs       what all agents have spent together, kept up with their summaries
gate        the gate
learning    what this installation learned of its patterns
limits      what a task may use, held at the gate
session     one agent's session
states      the life of an agent as a table
timers      the names of a session's timers
trusts      which repositories' settings a person lets count, by their digests
"""
