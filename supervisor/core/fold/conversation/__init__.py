"""The conversation with an agent.

history      the last calls of an agent, what the gate said of each, and how its last test run went
noted_facts  facts that an agent notes for others
heard_facts  facts of others that an agent is told while it runs
outbox       the outbox of lines to the CLI, under keys, until the shim has accepted them
requests     the CLI's requests that wait at the gate, and what they wait for
restating    compactions of the conversation, and the decisions of people that are said again after one
todo_list    the agent's own to-do list, followed by what its tools returned
turns        the turns of the model
"""
