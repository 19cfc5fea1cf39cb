"""Going on after an agent ended before its task was done.

after_end      what follows an agent's end: wait and resume, resume now, begin anew, or a person
backoff        how long to wait before a retry
crash_context  what an agent that goes on after a crash is told
usage_limits   until when a usage limit holds, from the CLI's own words
"""
