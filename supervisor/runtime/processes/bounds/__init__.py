"""The bounds of an agent's processes: memory, processes, processor and priority, and what they use.

cgroups     choose and make the cgroup v2 group in which an agent's processes are born
limits      limits put in force on an agent's real processes
priorities  lower priorities and bounds for a tree's processes, if no control group keeps limits
resources   usage of an agent's process tree
"""
