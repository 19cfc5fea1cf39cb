"""The published face: what programs import, and the entry point of the command.

A package of its own beside `supervisor`, so that it can say what is wrong if another distribution owns that name.
This file imports nothing, so that the command starts fast.

calls   the methods of both clients: each with its route
client  what programs import: `chaperon.client`
hooks   a PreToolUse hook for programs that use the Claude agent SDK
over    the two clients, over the daemon's socket: one blocks, one is awaited
start   the command `chaperon`
"""
