"""What several detectors read out of a run.

lru         a bounded memory of what was seen
meters      meters
normalise   the same thing said twice looks the same
paths       the paths that a call touches, and globs over them
polling     which calls wait for something
progress    how a run gets on, by what it does and not by how long it takes
shared      what several detectors ask of the latest observation, worked out once for all of them
test_runs   how many tests passed and failed, read out of what a test run printed
vocabulary  words that carry meaning, out of prose, paths, commands and code
"""
