"""Longer requests of people: to many agents, about checkpoints and incidents, and about what is kept.

autopilot         a stretch without a person: begun with checkpoints, ended with agents held and a report
autopilot_report  the report of that stretch, as plain text
forgetting        the forgetting of an ended agent: all that was written of it goes
orders            orders of people to many agents at once
recovery          the ways back from an incident, carried out from its report alone, on another day and by another
                  daemon
removal           removal of the remains of ended agents
rollbacks         requests of people about checkpoints
"""
