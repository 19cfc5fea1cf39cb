"""Lines of the CLI become observations, which detectors read.

frames     a line of the CLI
observer   messages of the CLI to observations
read_only  actions that change nothing, by their kind
spending   spending of an agent, over all its launches
"""
