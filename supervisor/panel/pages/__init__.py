"""The HTML of the panel's pages. Pure: data of the daemon in, nodes of HTML out.

agent        one agent: state, use, files, timeline
board        all agents, and what waits for a person
checkpoints  the line of checkpoints, one of them, and the dialog that goes back to it
diff         the content of what an agent changed
discoveries  facts that agents noted for others
incidents    the log of incidents, and the report of a stop
layout       the frame of each page, and the shared dialogs
merges       merges that wait for a person
parts        times, badges, buttons, lists
policy       the policy at work: rules that fired, a command explained, allowances
projects     checkpoints of whole projects, and the form that goes back
proposals    rollbacks that are proposed to a person
reports      the report of the last days
sign_in      the pages of those who have no session
task         one stored task: what it asks for, runs, merge, history
tasks        the list of stored tasks
timeline     what an agent did, as rows
trials       trials of a policy or a scenario
use          what an agent used over time, as charts
"""
