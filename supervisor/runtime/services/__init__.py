"""Work beside the agents.

apart_start        the start of a daemon with a user apart from that of its agents
people/            longer requests of people
quiet_checks       checks of the work of agents in quiet moments, for the detection of progress
checkpoint_upkeep  upkeep of checkpoints in idle moments
credentials        the choice among several credentials: the first that is at none of its limits pays
budgets            the budgets of a day, over all agents and of the account
heartbeat          the daemon's heartbeat for the service manager
judging            questions to a model whether an agent is stuck, if the configuration enables them
planting           files that people's programs obey later, left in a workspace while no call told of them
reloading          the configuration taken live
retention          data that is kept for a time only
sampling           looking at the process trees of all live agents, in one pass every few seconds, and telling their
                   sessions
systemd            the interface to systemd
telling            facts that an agent notes, told to those that run already
"""
