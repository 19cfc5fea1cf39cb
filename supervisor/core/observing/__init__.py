"""Lines of the CLI become observations, which detectors read.

frames     a line of the CLI
observer   messages of the CLI to observations
read_only  which actions change nothing, by what they are
spending   what an agent has spent, over all its launches
"""
