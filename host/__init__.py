"""The machine: what the daemon and the checkpoints both ask of the kernel. It knows nothing of agents.

children     programs run to their end: in a session of their own, with bounded output and a time limit
disk_errors  what the kernel says of a disk that is full or fails
durable      files that survive a crash and a power cut
"""
