"""Hooks of other agents' CLIs as those that the daemon takes, and its answers as theirs: one CLI a module.

cursor     the hooks of Cursor
gemini     the hooks of the Gemini CLI
other_cli  an adapter at work: a hook of its CLI taken to the daemon, and the answer brought back

An adapter has:

    NAME      the CLI as people read it
    FOLDER    the folder of its settings, in the home directory and in a project
    FILE      the settings file in it that has the hooks
    TOP       the other members that the file must have
    EVENTS    its own events, and the daemon's name of each
    entry     what stands in its settings for an event
    payload   a hook as the daemon takes it; None: the daemon is not asked, and it passes; a call that cannot be read
              whole raises `UnreadCallError`, and is denied
    answer    the daemon's answer as the CLI reads it

It is pure, with the standard library alone: the program of a hook imports it. What it is given is hostile: a
field that is missing, of another kind or there twice must not have less reviewed than runs.
"""
