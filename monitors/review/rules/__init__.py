"""The language of rules: patterns of commands, what is found by them, and how grave it is.

definitions  rules, programs and launchers out of plain mappings, as a configuration and the built-in knowledge write
             them
findings     findings: each is one fact about an action, passed between the parts of the reviewer
levels       base risks, by name, so that the tables agree on what a number means
patterns     the small language in which rules say which commands they mean
rules        rules: what is known of one use of a program, with the commands that show it
"""
