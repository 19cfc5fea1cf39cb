"""The process that holds one CLI and outlives the daemon. It imports the standard library alone.

credentials   who is at the other end of a Unix socket, as the kernel noted it when the connection was made
daemon_link   a shim's end of the conversation with a daemon
files         the small files of a shim, written from within its directory
loop          what a shim does
marks         the mark of an agent's processes
pipes         what a shim holds between the CLI's pipes and its files
process_tree  process trees
program       the shim
spawn         start the CLI
wire          what a shim and its daemon say to each other, over a Unix stream socket
"""
