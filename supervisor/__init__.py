"""The daemon, the pure core that decides for it, and the command line.

How it hangs together, each layer knowing only those before it:

cli/         the command `chaperon`
config/      the configuration: read, checked with line and column, and explained
core/        pure: events in, commands out
panel/       the panel: a web page to see and steer all agents
protocol/    the wire and the journal
rehearsal/   rehearsals: the real CLI plays a scenario against a scripted model, so that a policy is tried before it is
             trusted
report/      reports over a time: what agents did, what was stopped, what it cost, which rules fire
runtime/     all that touches the machine
standalone/  a CLI under a daemon of its own for as long as it runs, as CI wants it
testing/     checks of the rules for plugins, for their authors' own tests
top/         the board in a terminal
"""

__version__ = "0.1.0"
