"""Rehearsals: the real CLI plays a scenario against a scripted model, so that a policy is tried before it is trusted.

check       what happened, compared with what was expected
connection  one HTTP connection, byte by byte
expect      what it may expect
model       serves the scripts on loopback, and keeps every request
person      what a person does meanwhile
play        one answer on one connection, or the fault in its place
reply       an answer as the API's bytes
run         the run itself, by the daemon as it always is
scenario    the file that people write
scratch     the repository, HOME and environment that are made for a run
script      what the model will answer, and which faults the API has
told        what the model was told, read from a request
"""
