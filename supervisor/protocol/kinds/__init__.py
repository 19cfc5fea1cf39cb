"""The kinds of events, by what they are about; `supervisor.protocol.events` has them all.

daemon      events of the daemon itself
decisions   decisions of the core, and what it noted
merges      events of checks and merges
orders      events of people's orders: to many agents at once, and to take no new tasks
projects    the events of project checkpoints
requests    requests of people about one agent
runs        events of an agent's life: its task, its launches, the lines of its CLI, its end
stamp       the fields that every event carries
tasks       the events of stored tasks, as the journal keeps them
workspaces  events of workspaces: checkpoints, restores, and changes that were seen
"""
