"""Agents whose CLI others started: it comes by its hooks, and is watched over like every other.

adapters/       hooks of other agents' CLIs, made into those that the daemon takes
settings/       hooks in the settings files of people
attaching       the agent that a hook is of, made for a CLI that is new, found again after a restart
call_ids        ids of calls of a CLI that tells none
cli_process     the CLI's process: found above a hook, watched, held, ended
connections     those of the relay to the daemon
door            the socket of hooks: who may speak there, and its one route
hook            the program that the CLI starts for a hook; it imports the standard library alone
hook_server     the server of that socket
http_messages   HTTP as hooks speak it
launcher        the compiled program of hooks
link            the stand-in for a shim: lines and commands on one side, hooks on the other
relay           the process that listens for hooks on loopback, and outlives the daemon
relay_client    the start of the relay, and the daemon's care that it is there
relay_settings  the relay's port, the key of its tokens, and where the daemon's socket is
transcript      the session file, followed as it grows
translation     payloads of hooks as lines of the CLI, and lines to the CLI as answers of hooks
"""
