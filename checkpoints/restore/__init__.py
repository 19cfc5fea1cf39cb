"""Restores: planned, applied so that a crash loses nothing, verified.

apply         changes of the workspace from one tree to another that lose nothing if they are cut off
branch        moves of a branch back to its commit at a checkpoint, on request
diff_tree     the differences of two checkpoints, drawn as a tree for a terminal
ignored_then  paths that were ignored when a checkpoint was made
patches       the content of what changed from one checkpoint to another, as a unified diff
plan          the plan of a restore
restore       restores: plan, show the loss, confirm, change the workspace, compare it with the target byte for byte
"""
