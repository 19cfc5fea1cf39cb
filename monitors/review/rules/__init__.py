"""The language of rules: patterns of commands, what is found by them, and how grave it is.

definitions  rules, programs and launchers out of plain mappings
findings     what the parts of the reviewer tell each other
levels       base risks, by name, so that the tables agree on what a number means
patterns     the small language in which rules say which commands they mean
rules        rules
"""
