"""The sections of the configuration, one model each.

base           the base of every section of the configuration
embedded       sections of the configuration from dataclasses of settings, where keys, bounds, defaults and meanings are
               declared
exporters      the configuration of what is sent to other systems as it happens
hooks          the section `hooks`: scripts of the user for what happens
interventions  the section `interventions`
knowledge      the sections below `reviewer` that describe programs, in the language of the built-in knowledge
notify         the section `notify`: how people are told of incidents
patterns       the sections `patterns` and `progress`
resources      the section `resources`: the limits of one task, of a day and of an account, and prices of models
review         the sections `reviewer` and `rules`: the review of every call of a tool
sandbox        the section `sandbox`: what a sandboxed agent can reach
workspaces     the sections `checkpoints` and `workspaces`: what is kept of the files of agents, and where they work
"""
