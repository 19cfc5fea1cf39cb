"""Chaperon: the daemon that watches over Claude agents.

How it hangs together, each layer knowing only those before it:

protocol    the words everyone speaks: lines, messages, actions, events, commands. Pure.
core        one agent's session and the task board: `see(event) -> commands`. Pure.
config      what can be set, and where it is read from.
runtime     the effects: processes, journal, clock, socket. The only place that acts.
rehearsal   a scripted model, and scenarios that play it to the real CLI.
cli         the command `chaperon`.
"""

__version__ = "0.1.0"
