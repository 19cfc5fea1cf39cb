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
problems        faults of values, as sentences
reference       the list of all keys for readers, drawn from the model
settings_guard  how a repository's settings are let into an agent's CLI, or kept out of it
yaml_tree       YAML to plain values that know the line and column they came from
"""
