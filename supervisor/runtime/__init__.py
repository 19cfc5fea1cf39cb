"""All that touches the machine: processes, files, sockets, clocks. The core's commands are carried out here.

api/            the routes of the socket, one subject a module
assembly/       from configuration and plugins to the pure parts that sessions are made of
checkpointing/  the daemon's side of checkpoints
daemon/         the daemon, and the runner that performs what the core of one agent commands
exporters/      the audit record on its way to other systems
incidents/      incidents on their way to people
journal/        the record that nothing is lost from
processes/      the daemon's hands on an agent's processes
reading/        reading for others, in a process of its own
services/       what runs beside the agents, and what people ask of the daemon that takes a while
shim/           the process that holds one CLI and outlives the daemon
socket/         who may speak on the daemon's socket, and what is told of those who may not
start/          the way in
clock           the one place that reads the clocks
descriptors     how many files the daemon may hold open
doctor          what works on this machine, and how to mend the rest
filesystem      what reviews ask of the file system and of git, looked up at the moment of asking
log             the daemon's own log
preflight       the whole configuration tried out as the daemon would use it, before anything is started
service         the daemon as a whole
"""
