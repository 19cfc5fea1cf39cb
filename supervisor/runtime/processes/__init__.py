"""The daemon's access to an agent's processes: launched, found again, limited, ended.

bounds/          bounds of an agent's processes, and what they use
adoption         taking over the agents that a daemon before this one left
agent_link       the conversation with an agent's processes, as its runner needs it
contained        a program that is run for an agent to its own end
earlier_life     agents of an earlier life of the state directory
error_output     the CLI's error output on its way into the journal
find_cli         the search for the Claude CLI, and its version
handed_sessions  a session on its way to the agent that goes on in it
hand_stop        stops of agents without their daemon, from the records of their shims alone
identity         the identity of an agent's processes
launcher         starting an agent
leftovers        the end of processes that a shim does not end
settings_files   the files of a repository that bring settings into the CLI, read from the disk
shim_client      the daemon's side of the shims
shim_events      the events that a shim tells of its agent, and the record of the end
shim_remains     the files that a shim left behind
user_program     a program of the user, which prepares a workspace or handles an event
"""
