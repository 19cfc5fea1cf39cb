"""Reading for others, in a process of its own: what is long or costs much is not read in the loop that answers the gate.

The daemon takes a request, checks it, and hands the connection over with a job; the process answers it from files.
"""
