"""Rehearsals: the real CLI plays a scenario against a scripted model, so that a policy is tried before it is trusted.

`script` says what the model will answer, `reply` turns an answer into the API's bytes, `model` serves it on loopback and
keeps every request, `told` reads from a request what the model was told. `scenario` is the file people write, and
`check` compares what it expects with what happened.
"""
