"""The machine: what the daemon and the checkpoints both ask of the kernel. It knows nothing of agents.

allocator    the memory of a process that has many threads
apart        functions run in a process of their own, which is ended if it takes too long
children     programs run to their end
cut_waits    waits of foreign code in a worker thread, cut by a signal
disk_errors  the errors of a disk that is full, fails or may not be written, in the four widths that callers need
durable      files that survive
folders      folders as deep as others may have made them, walked and removed
identity     the users of a daemon that has one apart from its agents'
plain_files  files that others may have put there, opened without a wait
standing     what stands at a path that others name: a path of which the kernel can say nothing names nothing
threads      worker threads on a machine that gives no more of them, and with waits cut
unix_sockets  connecting to a Unix socket whose queue may be full
"""
