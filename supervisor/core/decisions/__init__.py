"""What is due, by what is known. Each module answers for one subject and changes nothing.

adoption     what is still due for an agent that a new daemon takes over
decide       what is due next, given what a session knows
incidents    from what happened to the incident that tells a person of it
lifecycle    the agent's life
restart      what follows when the CLI ended before the task was done
stop_sequence  the stop sequence
validation   what people wish of an agent, refused where it cannot be
"""
