"""What a session knows of its agent: each module is a fold over the same events.

allowances         what a person has let one agent do, as a fold over its events
checkpoints        what a session knows of checkpoints
controller_events  events of a run, told to the controller of interventions, which knows neither events nor the
                   journal
history            the last calls of an agent, what the gate said of each, and how its last test run went
issues             what goes wrong in one agent's run
memory             what a session knows
outage             whether the API answers an agent
outbox             what the CLI is to be told
pending_incidents  what happened to one agent that a person is to be told of and was not yet
predicted_changes  what calls came to beside what their reviews foretold
processes          the processes of one agent
requests           the CLI's requests that wait at the gate, and what they wait for
restarts           how often one agent was started again after its CLI had ended too early, and the launch that is due
rollback           what is launched next, as a session knows it, and the rollback that may lead there
stopping           what ends an agent before its task does, and how far its stop has come
summary            what is known of an agent at a glance
todo_list          the agent's own to-do list, followed by what its tools returned
turns              whether the model has more to do
"""
