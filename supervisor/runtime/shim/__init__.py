"""The process that holds one CLI and outlives the daemon. It imports the standard library alone.

credentials   the peer of a Unix socket, as the kernel noted it when the connection was made
daemon_link   a shim's end of the conversation with a daemon
enter         a program that is run for an agent to its own end, in place of this process
files         the small files of a shim, written from within its directory
loop          the loop of a shim over the CLI's pipes, the daemon's socket and the ends of children
marks         the mark of an agent's processes
pipes         the buffers of a shim between the CLI's pipes and its files
process_tree  process trees: find, freeze and end every process of an agent, whatever session or group it made for
              itself
program       the shim: one small process per agent that outlives the daemon
seal          the seal of what a CLI prints
socket_owner  the processes at the other end of a loopback connection
spawn         start the CLI
wire          the protocol between a shim and its daemon, over a Unix stream socket
"""
