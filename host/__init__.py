"""The machine: what the daemon and the checkpoints both ask of the kernel. It knows nothing of agents.

children     programs run to their end
disk_errors  the errors of a disk that is full or fails, in the three widths that callers need
durable      files that survive
threads      worker threads on a machine that gives no more of them
unix_sockets  connecting to a Unix socket whose queue may be full
"""
