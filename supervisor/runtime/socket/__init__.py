"""Who may speak on the daemon's socket, and what is told of those who may not.

admission      who may speak on the daemon's socket
json_protocol  HTTP whose own error answers are JSON, as those of the routes are
listening      taking the places where others will ask
peer           who asks
refusals       what is told of peers that were refused on the socket
"""
