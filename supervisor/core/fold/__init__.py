"""The state of a session: each module is a fold over the same events.

conversation/      the conversation with an agent
life/              an agent's launches, pauses, restarts and end
allowances         allowances that a person gave one agent, as a fold over its events
asked_hosts        hosts that the gateway refused an agent and a person can open to it, until one answers
controller_events  events of a run, passed to the controller of interventions, which knows neither events nor the
                   journal
issues             troubles in one agent's run
memory             the state of a session
pending_incidents  incidents of one agent that are not reported yet
predicted_changes  outcomes of calls beside the predictions of their reviews
summary            the summary of an agent
"""
