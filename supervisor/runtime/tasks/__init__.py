"""Stored tasks at work: requests of people about them, claims by agents, and the way to their end.

agents            the submission of an agent for a stored task
completion        the way from an agent that is done to a task that is done
desk              requests of people about stored tasks
dispatcher        claims of tasks by agents, and the steps that follow from the agents' lives
earlier_attempts  the facts about a stored task's earlier attempts that its next agent is told
finished_work     the way of a stored task's finished work
machine           the facts of the machine that claims depend on
redirecting       another task for an agent that is at work
resolving         merges of agents without a stored task, given back to an agent
"""
