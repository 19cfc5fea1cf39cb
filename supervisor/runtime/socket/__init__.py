"""Access to the daemon's socket, and reports of refused peers.

admission      access control of the daemon's socket
json_protocol  HTTP whose own error answers are JSON, as those of the routes are
listening      the listening sockets
peer           the author of a request
refusals       reports of peers that were refused on the socket
"""
