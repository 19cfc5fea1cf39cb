"""Stored tasks, pure: their states, the store as a fold over the journal, and which of them is claimed next.

admission  the checks of new and changed tasks, before they are journalled
breaker    the breaker of stored tasks: when agents crash one after the other, no other is begun
queue      the order in which tasks are claimed, and what holds one back
records    the records of the store: immutable, so that a snapshot needs no copy
states     the life of a stored task as a table of states and steps
store      every stored task there is, as a fold over the journal
"""
