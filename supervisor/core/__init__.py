"""Pure: events in, commands out. A session folds what happens to one agent, and decides what is due.

decisions/     decisions that are due, by the state of a session
fold/          the state of a session
observing/     lines of the CLI become observations, which detectors read
projects/      project checkpoints and rollbacks
registers/     folds over the journal about all agents together
replay/        recorded runs played again
tasks/         stored tasks
board          the board: every agent there is, live or ended, as a fold over the journal
bypass         calls that ran against the gate's answer, or without one
discoveries    facts that agents note for others
gate           the gate: a request of the CLI, the reviewer's answer, and the line that makes it take effect
limits         the limits of a task, held at the gate
project_marks  the tasks, agents and merges of a project as they are now
session        one agent's session
settings       the settings of limits, discoveries, stored tasks, merges and checks
states         the life of an agent as a table of states and steps
timers         the names of a session's timers
"""
