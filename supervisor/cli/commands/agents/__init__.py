"""Commands that show agents, steer them, and go back.

agents               commands about agents that run or ran
allowances           commands by which a person lets an agent do what the reviewer would block
approvals            commands about what waits for a person
autopilot            the command by which a person leaves the agents alone for a while
budgets              the command that shows what of the day's budgets is spent, by account, and who waits
checkpoints          commands that keep checkpoints
diff                 the command that shows the content of what an agent changed
drain                the command by which a daemon takes no new tasks
project_checkpoints  checkpoints of whole projects, as commands ask for them and print them
project_rollback     rollbacks of whole projects, as the command asks for them and prints them
removal              the commands that remove what ended agents left, and forget them
rollback             the command that goes back to a checkpoint, once what it loses was shown and confirmed
timeline             the timeline of an agent for a terminal
"""
