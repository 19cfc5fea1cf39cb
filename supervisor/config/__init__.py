"""The configuration: read, checked with line and column, and explained.

base            the base of every section of the configuration
brought         settings of a repository that the CLI would take in, read from its files
embedded        sections of the configuration from dataclasses of settings, where keys, bounds, defaults and meanings
                are declared
environment     the environment of an agent
exporters       the configuration of what is sent to other systems as it happens
interventions   the section `interventions`
knowledge       the sections below `reviewer` that describe programs, in the language of the built-in knowledge
load            files and environment variables to one checked configuration
model           the whole configuration, with its defaults
paths           the paths of state, runtime files and socket, and the creation of their directories
patterns        the sections `patterns` and `progress`
problems        faults of values, as sentences
programs        keys of the configuration whose values are programs or code
reference       the list of all keys for readers, drawn from the model
sandbox         the section `sandbox`: what a sandboxed agent can reach
settings_guard  how a repository's settings are let into an agent's CLI, or kept out of it
yaml_tree       YAML to plain values that know the line and column they came from
"""
