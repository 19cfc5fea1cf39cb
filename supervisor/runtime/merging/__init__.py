"""The way of an agent's branch into its target: made in memory, checked on files of its own, moved or not at all.

conflicts     conflicts of a merge, and their explanation
git_merge     a merge of two commits without a worktree
loose_work    work in a workspace that no commit has
merge_queue   proposals, and the queue of merges for each target
merge_rules   settings of checks and merges
merge_work    the steps of merges, and the way of one onto its target
scratch       a folder with the files of one commit
target        the target's move
verification  the check of an agent's work by a command
"""
