"""The configuration: read, checked with line and column, and explained.

sections/       the sections of the configuration, one model each
brought         settings of a repository that the CLI would take in, read from its files
environment     the environment of an agent
kept            parts of a configuration that was checked, kept for the commands that follow
load            files and environment variables to one checked configuration
model           the whole configuration, with its defaults, and the sections that are not in `sections`
paths           the paths of state, runtime files and socket, and the creation of their directories
problems        faults of values, as sentences
programs        keys of the configuration whose values are programs or code
settings_guard  how a repository's settings are let into an agent's CLI, or kept out of it
sources         the files and variables that a configuration may come from, whether there are any, and what they hold
yaml_tree       YAML to plain values that know the line and column they came from
"""
