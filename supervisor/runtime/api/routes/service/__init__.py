"""The routes about what the daemon knows, tells and is told as a whole.

budgets    the routes of spending and budgets
health     the route of the daemon's health
long_work  the route of long work: what is under way, how far it is, and how long yet
metrics    the metrics server
outcomes   the routes of the socket's API that are about outcomes of issues, and the learned state
streams    the routes of the journal and the incident log, as lines that can be followed
trust      the routes by which a person examines a repository's settings and lets them count
"""
