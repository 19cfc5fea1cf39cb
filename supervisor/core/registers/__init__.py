"""Folds over the journal about all agents together, which the board holds.

costs              spending of all agents together, updated with their summaries
known_discoveries  all discoveries that are kept
learning           the learned state of patterns in this installation
merges             merges of agents' branches, as a fold over the journal, kept with the snapshot
past               the known past of agents that ended
standing           standing orders of people to all agents, or to those of a repository
trusts             trust of people in repositories' settings, by digest
usage_limits       usage limits of accounts that were met
"""
