"""Rehearsals: the real CLI plays a scenario against a scripted model, so that a policy is tried before it is trusted.

scenario    the file that people write
expect      what it may expect
script      what the model will answer, and which faults the API has
reply       an answer as the API's bytes
connection  one HTTP connection, byte by byte
play        one answer on one connection, or the fault in its place
model       serves the scripts on loopback, and keeps every request
told        what the model was told, read from a request
scratch     the repository, HOME and environment that are made for a run
person      what a person does meanwhile
run         the run itself, by the daemon as it always is
check       what happened, compared with what was expected
"""
