"""The configuration: read, checked with line and column, and explained.

base            what every section shares
brought         what the settings of a repository bring into the CLI, pure
embedded        sections from the dataclasses of settings
environment     an agent's environment, pure
exporters       the section `audit.exporters`
interventions   the sections below `interventions`
knowledge       the sections below `reviewer` that say what programs do
load            files and environment variables to one checked `Config`
model           all sections and their defaults
paths           where state, runtime files and socket are
patterns        the sections `patterns` and `progress`
problems        what is wrong with a value, as sentences
reference       the list of all keys, drawn from the model
settings_guard  how that is let count or is kept from it, pure
yaml_tree       YAML to values that know their line and column
"""
