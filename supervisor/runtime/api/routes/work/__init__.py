"""The routes about work: tasks, merges, and facts that agents note for others.

discoveries  the routes of facts that agents note for others
merges       the routes of the socket's API that are about merges of agents' branches
tasks        the routes of stored tasks
"""
