"""The HTML of the panel's pages. Pure: data of the daemon in, nodes of HTML out.

agents/      agents: the board, one of them, what it did, used and changed, and rollbacks proposed for it
checkpoints  the line of checkpoints, one of them, and the dialog that goes back to it
discoveries  facts that agents noted for others
incidents    the log of incidents, and the report of a stop
layout       the frame of each page, and the shared dialogs
merges       merges that wait for a person
parts        times, badges, buttons, lists
policy       the policy at work: rules that fired, a command explained, allowances
projects     checkpoints of whole projects, and the form that goes back
reports      the report of the last days
sign_in      the pages of those who have no session
task         one stored task: what it asks for, runs, merge, history
tasks        the list of stored tasks
trials       trials of a policy or a scenario
"""
