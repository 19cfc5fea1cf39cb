"""Commands that give agents work, and take over what they made.

attach       the commands by which a person's own Claude comes under watch, and goes from it
discoveries  the command to look at facts that agents noted for others, and to take one back
exec_claude  the command that stands in for `claude`
merge        the command that lists the merges of agents' branches, and carries one out once it was shown and
             confirmed
run          the command that submits a task and follows it, with the daemon that is there or one of its own for that
             long
submit       the command that adds all tasks of a file
task         the commands about stored tasks
"""
