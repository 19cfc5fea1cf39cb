"""The pages of agents, and what of them stands on several.

agent      one agent: state, use, files, timeline
board      all agents, and what waits for a person
diff       the content of what an agent changed
proposals  rollbacks that are proposed to a person
timeline   what an agent did, as rows
use        what an agent used over time, as charts
"""
