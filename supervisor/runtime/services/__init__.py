"""What runs beside the agents, and what people ask of the daemon that takes a while.

checkpoint_upkeep  looking after checkpoints when nothing else is to do
heartbeat          the daemon's heartbeat for the service manager
judging            asking a model whether an agent is stuck, where the configuration wants it
recovery           the ways back from an incident, carried out
retention          what is kept for a time only
rollbacks          what people ask of checkpoints
sampling           looking at the process trees of all live agents, in one pass every few seconds, and telling their
                   sessions
systemd            speaking with systemd
"""
