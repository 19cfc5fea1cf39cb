"""The configuration: what can be set, where it is read from, and what an agent's environment is made of.

base            what every section shares
model           all sections and their defaults
interventions   the sections below `interventions`
patterns        the sections `patterns` and `progress`
exporters       the section `audit.exporters`
load            files and environment variables to one checked `Config`
yaml_tree       YAML to values that know their line and column
problems        what is wrong with a value, as sentences
paths           where state, runtime files and socket are
environment     an agent's environment, pure
brought         what the settings of a repository bring into the CLI, pure
settings_guard  how that is let count or is kept from it, pure
reference       the list of all keys, drawn from the model
"""
