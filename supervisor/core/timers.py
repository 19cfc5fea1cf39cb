"""The names of a session's timers."""

HELLO = "hello"
"""The CLI's first answer."""

SETTLE = "settle"
"""Messages that no turn has taken."""

COMMANDS = "commands"
"""Commands in the background that a turn left."""

FINISH = "finish"
"""The CLI's end, once its input is closed."""

STOP_STEP = "ladder"
"""The next step of a stop."""

INTERVENE = "intervene"
"""The end of a cooldown, or of the wait for the next call that a throttling lets through."""

RETRY = "retry"
"""The launch of an agent that waits to be started again."""

STANDSTILL = "standstill"
"""Limit of a rollback: until all processes are frozen, and again until they have gone."""

APPROVAL = "approval:"
"""How the timers of actions that wait for a person begin; the request's id follows."""

OF_A_SESSION = (HELLO, SETTLE, COMMANDS, FINISH, STOP_STEP, INTERVENE, RETRY, STANDSTILL)
"""Those that end with their session, each by its whole name."""
