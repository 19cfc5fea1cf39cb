"""All that touches the machine: processes, files, sockets, clocks. The core's commands are carried out here.

api/            the routes of the socket, one subject a module
assembly/       from configuration and plugins to the pure parts that sessions are made of
attached/       agents whose CLI others started, and which come by their hooks
checkpointing/  the daemon's side of checkpoints
daemon/         the daemon, and the runner that performs what the core of one agent commands
exporters/      the audit record on its way to other systems
gateway/        the process that holds the credential of agents, and the daemon's side of it
incidents/      incidents on their way to people
journal/        the record that nothing is lost from
merging/        the way of an agent's branch into its target
metrics/        the metrics of the daemon: their names, counters and text
processes/      the daemon's access to an agent's processes
projects/       checkpoints and rollbacks of whole projects
protection/     records masked before they are written, and values kept in full until their owner has ended
reading/        long reads for clients, in a process of their own and not in the loop that answers the gate
sandbox/        the sandbox of agents, made of what the machine can give
services/       work beside the agents, and longer requests of people
shim/           the process that holds one CLI and outlives the daemon
socket/         access to the daemon's socket, and reports of refused peers
tasks/          stored tasks at work
clock           the one place that reads the clocks
daemon_parts    the parts of the daemon that others are handed, each as narrow as its use
descriptors     how many files the daemon may hold open
doctor          checks of this machine, with the way to mend each fault
filesystem      lookups of reviews in the file system and git, made at the moment of the request
log             the daemon's own log on standard error, for its operator
long_work       the daemon's long work, and how far it is
parts           the parts of a daemon, made from what it is started with
preflight       a trial of the whole configuration before anything is started
service         the daemon as a whole
serving         the sockets of a daemon, served: for people, for hooks, and for metrics
state_files     the daemon's state, folded from its files at a start and kept in them while it runs
waiting         waits for something that nothing tells of
"""
