"""The runners, which perform what the cores of agents command.

agent_output      the output of an agent's CLI, told to the session line by line
deferred_reviews  reviews that take longer than the gate's loop may be held
runner            the runner of one agent
runner_tools      the parts that the runners of all agents share
runners           the runners of agents: each is started with its agent or takes it over, and a failure in it ends that
                  agent alone
timers            named timers: `fire` is called with the name once the time has come, unless it was started again or
                  stopped
"""
