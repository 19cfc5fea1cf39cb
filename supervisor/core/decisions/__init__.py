"""Decisions that are due, by the state of a session. Each module covers one subject and changes nothing.

adoption       the actions that are due for an agent that a new daemon takes over
decide         the next decision, given the state of a session
incidents      from what happened to the incident that tells a person of it
lifecycle      the agent's life
restart        the restart of an agent whose CLI ended before its task was done
stop_sequence  the stop sequence
validation     validation of people's requests about an agent, before they are journalled
"""
