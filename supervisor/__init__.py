"""The daemon, the pure core that decides for it, and the command line.

How it hangs together, each layer knowing only those before it:

cli/        the command `chaperon`.
config/     what can be set, and where it is read from.
core/       one agent's session and the task board: `see(event) -> commands`. Pure.
protocol/   the words everyone speaks: lines, messages, actions, events, commands. Pure.
rehearsal/  a scripted model, and scenarios that play it to the real CLI.
runtime/    the effects: processes, journal, clock, socket. The only place that acts.
testing/    what plugins must keep to, as checks that their authors' own tests can run
"""

__version__ = "0.1.0"
