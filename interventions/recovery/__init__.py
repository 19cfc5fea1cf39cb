"""Ways back to normal work. Pure plans; what must be known of the disk comes in through `Facts`.

known_errors   texts of errors that are well understood, and what each is about
remedies       what is to be done about one, with the facts that were looked up
usage_limits   until when a usage limit holds, from the CLI's own words
backoff        how long to wait before a retry
after_end      what follows an agent's end: wait and resume, resume now, begin anew, or a person
crash_context  what an agent that goes on after a crash is told
degradation    less instead of an end: the stages
"""
