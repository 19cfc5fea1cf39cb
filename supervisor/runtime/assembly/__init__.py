"""From configuration and plugins to the pure parts that sessions are made of.

detectors         the detectors of a session as the configuration wants them
interventions     interventions, strategies and recoveries of plugins, as the daemon runs them
plugins           parts from elsewhere
policy            reviews and sessions as one configuration wants them
policy_store      policies that counted once, kept under their digest
protection        the protection of records, made of the configuration
review_settings   from the configuration to the reviewer's settings
reviewer          the reviewer as the daemon runs it
settings          from the configuration, which is what a user writes, to the settings that the pure parts take
trusted_programs  programs and code that the daemon runs, kept as they were when a person last confirmed them
workspace_facts   facts about a workspace for agents
"""
