"""The state of a session: each module is a fold over the same events.

allowances         allowances that a person gave one agent, as a fold over its events
checkpoints        the checkpoints of a session
controller_events  events of a run, passed to the controller of interventions, which knows neither events nor the
                   journal
history            the last calls of an agent, what the gate said of each, and how its last test run went
issues             troubles in one agent's run
memory             the state of a session
noted_facts        facts that an agent notes for others
outage             whether the API answers an agent
outbox             the outbox of lines to the CLI, under keys, until the shim has accepted them
pausing            the pause of an agent that a person asked for
pending_incidents  incidents of one agent that are not reported yet
predicted_changes  outcomes of calls beside the predictions of their reviews
processes          the processes of one agent
requests           the CLI's requests that wait at the gate, and what they wait for
restarts           how often one agent was started again after its CLI had ended too early, and the launch that is due
restating          compactions of the conversation, and the decisions of people that are said again after one
rollback           the next launch, and the rollback that may lead there
stopping           the stop of an agent before its task is done, with its reasons and its progress
summary            the summary of an agent
todo_list          the agent's own to-do list, followed by what its tools returned
turns              the turns of the model
"""
