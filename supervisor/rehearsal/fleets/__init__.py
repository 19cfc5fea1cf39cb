"""Rehearsals of fleets: several real CLIs work through dependent tasks, beside a person and what goes wrong.

director        the daemon as a process of its own, its journal read along, and what is done to both
fleet_check     the end of a fleet's rehearsal, compared with its expectations
fleet_run       a fleet's rehearsal from its repositories to its findings
fleet_scenario  the file of a fleet's rehearsal
leftovers       a process that ends what a rehearsal has started, if the rehearsal was killed
moments         moments of a rehearsal, told by its journal and by its model
"""
