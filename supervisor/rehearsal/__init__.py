"""Rehearsals: the real CLI plays a scenario against a scripted model, so that a policy is tried before it is trusted.

check           the outcome of a rehearsal, compared with a scenario's expectations
connection      one HTTP/1.1 connection, served with h11 on an anyio stream
expect          expectations of a scenario
fleets/         rehearsals of fleets: several CLIs, stored tasks, a daemon that may be killed
model           the scripted model
model_requests  texts that the model got, read from a request
person          acts of a person in a rehearsal, while a step's tool calls run or wait
play            one answer on one connection
reply           a step of the script as the Messages API would send it
run             a rehearsal: the real CLI in a scratch repository, a scripted model, the usual daemon, a comparison
scenario        the scenario file
scratch         the scratch repository, HOME and environment of a rehearsal
script          scripts of a model
"""
