"""The words that every other package speaks, and nothing else.

Pure: no file, clock, process or randomness is touched from here, and a test keeps it so.

words          enumerations: decisions, severities, states, interventions
errors         what can go wrong, as sentences with facts
lines          bytes to lines
messages       lines of the CLI to typed messages
retrying       what the CLI says while the API does not answer
error_lines    lines of its error output, and how grave each is
control        what is written to the CLI
tasks          what somebody wants done
actions        one tool call, and the review of it
effects        the types of side effects, and groups of them
observations   what a pattern detector is shown
issues         what a pattern detector saw
interventions  what is done about it, and the incident that tells of it
learning       what became of an issue, as people say
moments        where a run is when a checkpoint is asked for
prices         tokens, and what they cost
settings       what the settings of a repository bring into the CLI
todo           the agent's own to-do list
identity       who the processes of a launch are
aftermath      what an agent left behind that was stopped
events         facts, as the journal keeps them
records        one event as one line of the journal
export         what an exporter of the audit record is given, and must be
anyjson        JSON that every reader can read, whatever text and numbers are in it
plain          text from outside without what a terminal obeys
wording        how counts, times, sizes and money are written for people
commands       what the core asks the runtime to do
metrics        the names of all metrics
"""
