"""Errors as types that carry the same facts as their sentences.

A message says what happened, with which values, what was done about it, and what the reader can do.
"""


class ChaperonError(Exception):
    """Any failure that chaperon foresaw. Another exception is a bug: please report it."""

    def __init__(self, what: str, *, way_out: str = "") -> None:
        """Join what happened and the way out into the message.

        Args:
            what: What happened, with values, and what was done about it; a whole sentence.
            way_out: What the reader can do now; a whole sentence, or nothing if the first says it.
        """
        super().__init__(("" if what.endswith("\n") else " ").join((what, way_out)).rstrip())
        self.what = what
        self.way_out = way_out


class UsageError(ChaperonError):
    """The caller asked for something that cannot be: a wrong value, an unknown name."""


class NotFoundError(UsageError):
    """No agent, checkpoint or incident has that name."""


class IllegalStepError(ChaperonError):
    """An agent in this state cannot take this step; the agent is unchanged."""

    def __init__(self, agent: str, state: str, step: str, legal: tuple[str, ...]) -> None:
        """Name the state, the step refused, and the steps that would have been legal."""
        allowed = f"What it can do now: {', '.join(legal)}." if legal else "It has ended."
        super().__init__(f"Agent {agent!r} is {state} and cannot {step}; nothing was changed.", way_out=allowed)
        self.agent, self.state, self.step, self.legal = agent, state, step, legal


class FrameError(ChaperonError):
    """The CLI printed a frame of a known kind that lacks what its kind must have."""

    def __init__(self, kind: str, problem: str, request_id: str | None = None) -> None:
        """Say which kind, what is wrong with it, and which request of the CLI waits for an answer, if one does."""
        super().__init__(
            f"The CLI's {kind!r} frame is malformed: {problem}. It was kept in the journal and passed over."
        )
        self.kind, self.problem, self.request_id = kind, problem, request_id
