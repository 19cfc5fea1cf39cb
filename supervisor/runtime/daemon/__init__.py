"""The daemon: what happens goes through it, and what people ask.

running/          the runners that perform what the cores of agents command
aftermath         the remains of a stopped agent
daemon            the daemon: every event goes through it once, and all that people ask of agents
hooks             the scripts for what happens, run beside all that the agents do, one after the other
intake            the intake of tasks: each that is taken gets a name and a workspace, and its agent is launched
orders            the consequences of people's standing orders for one agent, and for tasks that are being taken
outcomes          waits for the outcome of a request, by the request's id
project_work      checkpoints and rollbacks of whole projects, as the daemon has them
repository_hooks  hooks of a repository
submission        the submission of a task, and the check whether it can be taken
summary_json      summaries of agents as JSON
taken_over        an account of the work that a daemon took over at its start
usage_turns       the turns of agents that waited for their account's usage limit
"""
