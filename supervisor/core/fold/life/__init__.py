"""An agent's launches, pauses, restarts and end.

checkpoints  the checkpoints of a session
outage       whether the API answers an agent
pausing      the pause of an agent that a person asked for
processes    the processes of one agent
restarts     how often one agent was started again after its CLI had ended too early, and the launch that is due
rollback     the next launch, and the rollback that may lead there
stopping     the stop of an agent before its task is done, with its reasons and its progress
"""
