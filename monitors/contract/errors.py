"""Errors as types that carry the same facts as their sentences.

A message says what happened, with which values, what was done about it, and what the reader can do.
"""

from collections.abc import Mapping


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


class NumberedUsageError(UsageError):
    """Things of a list cannot be taken, so none was."""

    def __init__(self, what: str, faults: Mapping[int, str]) -> None:
        """Say it in one sentence, and the fault of each thing by its number in the list, from 1."""
        super().__init__(what)
        self.faults = dict(faults)


class NotFoundError(UsageError):
    """No agent, checkpoint or incident has that name."""


class IllegalStepError(ChaperonError):
    """An agent in this state cannot take this step; the agent is unchanged."""

    def __init__(self, agent: str, state: str, step: str, way_out: str = "") -> None:
        """Name the state, the step refused, and what a person can type now."""
        super().__init__(f"Agent {agent!r} is {state} and cannot {step}; nothing was changed.", way_out=way_out)
        self.agent, self.state, self.step = agent, state, step


class FrameError(ChaperonError):
    """The CLI printed a frame of a known kind that lacks what its kind must have."""

    def __init__(self, kind: str, problem: str, request_id: str | None = None) -> None:
        """Say which kind, what is wrong with it, and which request of the CLI waits for an answer, if one does."""
        super().__init__(
            f"The CLI's {kind!r} frame is malformed: {problem}. It was kept in the journal and passed over."
        )
        self.kind, self.problem, self.request_id = kind, problem, request_id


class ReviewDeferredError(ChaperonError):
    """A review took longer than the gate's loop may be held; it is to be made elsewhere."""
