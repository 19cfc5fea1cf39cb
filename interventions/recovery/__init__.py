"""Going on after an agent ended before its task was done.

after_end      the follow-up of an agent that ended before its task was done and was not stopped
backoff        how long to wait before a retry
crash_context  the message to an agent that continues after a crash
usage_limits   until when a usage limit holds, read from the CLI's own words
"""
