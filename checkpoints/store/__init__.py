"""The store of one project: objects, ledger, write-ahead log, upkeep.

deletion         the end of a store
health           what is wrong with a store
layout           the folders and files that a store begins with, and who owns it
ledger           the ledger
packing          packing a store
records          checkpoints as JSON
refs             the refs of a store
restore_journal  what a restore that is under way writes down, so that after a crash it is completed or returned
store            the store
stored           what can be read of stores without opening them
upkeep           keeping a store small
wal              the write-ahead log
"""
