"""The store of one project: objects, ledger, write-ahead log, upkeep.

borrowed         the objects of others that a store borrows, looked through before git reads them
deletion         the end of a store
health           verification of a store
layout           the folders and files that a store begins with, and who owns it
ledger           the ledger: one line a checkpoint made or dropped, in order; the truth about which checkpoints there
                 are
packing          packing a store
records          checkpoints as JSON
refs             the refs of a store, by which any git finds checkpoints
restore_journal  the journal of a restore, by which a restore that a crash cut off is completed or undone
store            the store: one bare repository per project, owned by chaperon, closed to the agent
stored           facts of stores that are read without opening them
upkeep           upkeep of a store
wal              the write-ahead log
"""
