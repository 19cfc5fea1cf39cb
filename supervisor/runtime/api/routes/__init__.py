"""The routes of the socket, one subject a module. Each is handed the parts of the daemon that it uses.

actions      the routes of actions: those that wait for a person, and those that are only thought of
agents       the routes of agents: their list, new ones, and what a person tells one
allowances   the routes by which a person lets an agent do what the reviewer would block, looks at that, and takes it
             back
autopilot    the routes by which a person leaves the agents alone for a while
budgets      the routes of spending and budgets
checkpoints  the routes of the socket's API that are about checkpoints
directories  the worktree or the repository that a directory in a request means
discoveries  the routes of facts that agents note for others
health       the route of the daemon's health
merges       the routes of the socket's API that are about merges of agents' branches
metrics      the metrics server
orders       the routes by which a person controls many agents at once, and has no new tasks taken
outcomes     the routes of the socket's API that are about outcomes of issues, and the learned state
parts        the parts of the daemon that routes are handed, each as narrow as its use
projects     the routes of the socket's API that are about checkpoints of whole projects
recovery     the routes of the socket's API that are about ways back from an incident
streams      the routes of the journal and the incident log, as lines that can be followed
tasks        the routes of stored tasks
trust        the routes by which a person examines a repository's settings and lets them count
work         the route of long work: what is under way, how far it is, and how long yet
"""
