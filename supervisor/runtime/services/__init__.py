"""Work beside the agents, and longer requests of people.

autopilot          a stretch without a person: begun with checkpoints, ended with agents held and a report
autopilot_report   the report of that stretch, as plain text
quiet_checks       checks of the work of agents in quiet moments, for the detection of progress
checkpoint_upkeep  upkeep of checkpoints in idle moments
credentials        the choice among several credentials: the first that is at none of its limits pays
budgets            the budgets of a day, over all agents and of the account
forgetting         the forgetting of an ended agent: all that was written of it goes
heartbeat          the daemon's heartbeat for the service manager
judging            questions to a model whether an agent is stuck, if the configuration enables them
orders             orders of people to many agents at once
recovery           the ways back from an incident, carried out from its report alone, on another day and by another
                   daemon
planting           files that people's programs obey later, left in a workspace while no call told of them
reloading          the configuration taken live
removal            removal of the remains of ended agents
retention          data that is kept for a time only
rollbacks          requests of people about checkpoints
sampling           looking at the process trees of all live agents, in one pass every few seconds, and telling their
                   sessions
systemd            the interface to systemd
telling            facts that an agent notes, told to those that run already
"""
