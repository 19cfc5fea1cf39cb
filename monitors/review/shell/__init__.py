"""Bash as the reviewer reads it: text to a tree, and the tree to the commands that would run."""
