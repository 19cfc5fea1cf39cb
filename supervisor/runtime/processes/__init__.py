"""The daemon's access to an agent's processes: launched, found again, limited, ended.

adoption        taking over the agents that a daemon before this one left
agent_link      the conversation with an agent's processes, as its runner needs it
cgroups         choose and make the cgroup v2 group in which an agent's processes are born
contained       a program that is run for an agent to its own end
earlier_life    agents of an earlier life of the state directory
error_output    the CLI's error output on its way into the journal
find_cli        the search for the Claude CLI, and its version
hand_stop       stops of agents without their daemon, from the records of their shims alone
identity        the identity of an agent's processes
launcher        starting an agent
leftovers       the end of processes that a shim does not end
limits          limits put in force on an agent's real processes
priorities      lower priorities and bounds for a tree's processes, if no control group keeps limits
resources       usage of an agent's process tree
settings_files  the files of a repository that bring settings into the CLI, read from the disk
shim_client     the daemon's side of the shims
user_program    a program of the user, which prepares a workspace or handles an event
"""
