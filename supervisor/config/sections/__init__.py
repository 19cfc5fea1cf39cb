"""The sections of the configuration, one model each.

base           the base of every section of the configuration
embedded       sections of the configuration from dataclasses of settings, where keys, bounds, defaults and meanings are
               declared
exporters      the configuration of what is sent to other systems as it happens
interventions  the section `interventions`
knowledge      the sections below `reviewer` that describe programs, in the language of the built-in knowledge
patterns       the sections `patterns` and `progress`
sandbox        the section `sandbox`: what a sandboxed agent can reach
"""
