"""Pure: the reviewer of each tool call, and the detectors of patterns over many.

contract/        the words of monitors
patterns/        the detectors, one pattern a module
review/          the step reviewer
signals/         what several detectors read out of a run
detectors        the detectors of a session, in order, and all their settings
guarded          around each detector
learning         what people say of issues, made into thresholds
per_subagent     subagents watched apart
secret_patterns  what secrets look like: their shapes, and names of variables that hold them
sensitivity      how eagerly patterns are reported, and what each pattern's settings share
streaks          issues of one detector that are open
"""
