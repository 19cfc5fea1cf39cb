"""The commands, one a module.

agents       commands about agents that run or ran
allowances   commands by which a person lets an agent do what the reviewer would block
approvals    commands about what waits for a person
attach       the commands by which a person's own Claude comes under watch, and goes from it
checkpoints  commands that keep checkpoints
dashboard    the command that prints the dashboard for Grafana
diff         the command that shows the content of what an agent changed
discoveries  the command to look at facts that agents noted for others, and to take one back
doctor       the command that says what works on this machine, and how to mend the rest
drain        the command by which a daemon takes no new tasks
exec_claude  the command that stands in for `claude`
export       records for other programs, in the form that `audit.export_format` says
merge        the command that lists the merges of agents' branches, and carries one out once it was shown and confirmed
notify       the command that lists the notification channels, and tests them
outcome      the command that says what became of issues, and shows what was learned from that
rehearse     the commands that play scenarios to the real CLI
removal      the commands that remove what ended agents left
replay       the command that runs recorded sessions through today's reviewer, detectors and controller, offline
review       commands about reviews without a run
rollback     the command that goes back to a checkpoint, once what it loses was shown and confirmed
run          the command that submits a task and follows it, with the daemon that is there or one of its own for that
             long
serve        the command that is the daemon
submit       the command that adds all tasks of a file
task         the commands about stored tasks
timeline     the timeline of an agent for a terminal
trust        the command to examine a repository's settings, and the question of `run` about them
view         events of the journal as lines for people
"""
