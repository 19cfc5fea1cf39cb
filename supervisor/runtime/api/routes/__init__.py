"""The routes of the socket, one subject a module.

agent_rows   the list of all agents as JSON
allowances   the routes by which a person lets an agent do what the reviewer would block, looks at that, and takes it
             back
autopilot    the routes by which a person leaves the agents alone for a while
budgets      the route of budgets
checkpoints  the routes of the socket's API that are about checkpoints
directories  the worktree or the repository that a directory in a request means
discoveries  the routes of facts that agents note for others
gathering    the metrics of the daemon at one moment, gathered for their text
merges       the routes of the socket's API that are about merges of agents' branches
metrics      the metrics server
orders       the routes by which a person controls many agents at once, and has no new tasks taken
outcomes     the routes of the socket's API that are about outcomes of issues, and the learned state
projects     the routes of the socket's API that are about checkpoints of whole projects
recovery     the routes of the socket's API that are about ways back from an incident
tasks        the routes of stored tasks
trust        the routes by which a person examines a repository's settings and lets them count
"""
