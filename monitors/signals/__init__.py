"""Signals in a run that several detectors use.

approaches  approaches that a run which is stuck has not tried
lru         a bounded memory of what was seen
meters      meters of one resource
normalise   the same thing said twice looks the same
paths       the paths that a call touches, and globs over them
polling     calls that wait for something
progress    how a run gets on, by what it does and not by how long it takes
shared      facts about the latest observation that several detectors need, computed once for all of them
test_runs   how many tests passed and failed, read out of what a test run printed
vocabulary  words that carry meaning, out of prose, paths, commands and code
"""
