"""The routes about agents: what a person has them do, and the ways back of their work.

actions      the routes of actions: those that wait for a person, and those that are only thought of
agents       the routes of agents: their list, new ones, and what a person tells one
allowances   the routes by which a person lets an agent do what the reviewer would block, looks at that, and takes it
             back
autopilot    the routes by which a person leaves the agents alone for a while
checkpoints  the routes of the socket's API that are about checkpoints
orders       the routes by which a person controls many agents at once, and has no new tasks taken
projects     the routes of the socket's API that are about checkpoints of whole projects
recovery     the routes of the socket's API that are about ways back from an incident
"""
