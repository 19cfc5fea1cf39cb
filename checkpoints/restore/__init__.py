"""Going back: planned, applied so that a crash loses nothing, verified.

apply      changing the workspace from one tree to another so that nothing is lost, whatever happens half-way
branch     moving a branch back, when asked
diff_tree  what changed between two checkpoints, as a picture for a terminal
plan       what going back would do
restore    going back
"""
