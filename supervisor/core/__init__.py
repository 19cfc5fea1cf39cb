"""Pure: events in, commands out. A session folds what happens to one agent, and decides what is due.

decisions/  decisions that are due, by the state of a session
fold/       the state of a session
observing/  lines of the CLI become observations, which detectors read
projects/   project checkpoints and rollbacks
replay/     recorded runs played again
tasks/      stored tasks
board       the board: every agent there is, live or ended, as a fold over the journal
bypass      calls that ran against the gate's answer, or without one
costs       spending of all agents together, updated with their summaries
discoveries  facts that agents note for others
gate        the gate: a request of the CLI, the reviewer's answer, and the line that makes it take effect
known_discoveries  all discoveries that are kept
learning    the learned state of patterns in this installation
limits      the limits of a task, held at the gate
merges      merges of agents' branches, as a fold over the journal, kept with the snapshot
past        the known past of agents that ended
project_marks  the tasks, agents and merges of a project as they are now
session     one agent's session
settings    the settings of limits, discoveries, stored tasks, merges and checks
standing    standing orders of people to all agents, or to those of a repository
states      the life of an agent as a table of states and steps
timers      the names of a session's timers
trusts      trust of people in repositories' settings, by digest
"""
