"""A change of the policy, tried against recorded calls: which of them would be decided otherwise than by today's."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
from monitors.contract.errors import UsageError
from monitors.contract.subjects import subject_of
from supervisor.cli import common
from supervisor.config.model import Config
from supervisor.protocol import events

LONGEST_CALL = 400
"""Characters of a call that the report has."""


def config_to_try(path: Path, today: Config) -> Config:
    """Read the keys of a file over those of the machine and the user.

    Args:
        path: The file.
        today: The configuration that counts.

    Raises:
        ConfigError: Something in it is wrong.
        UsageError: It names plugins, which no person has trusted to run.
    """
    tried = replace(common.configuration_source(), explicit=path.absolute()).load().config
    if tried.plugins != today.plugins:
        raise UsageError(
            f"{path} names plugins other than those that count now, and a trial runs no program that nobody has "
            "trusted; nothing was replayed. Leave `plugins` out."
        )
    return tried


class ComparedReviewer:
    """Reviews by the policy that is tried, and notes each call that today's decides otherwise.

    Args:
        tried: The policy that is tried.
        today: The one that counts.
    """

    def __init__(self, tried: Reviewer, today: Reviewer) -> None:
        self._tried, self._today = tried, today
        self._at, self._agent = 0, ""
        self.found: list[dict[str, Any]] = []
        """The calls, in their order."""

    def review(self, action: Action, context: ReviewContext) -> Review:
        """Review by both."""
        was, is_ = self._today.review(action, context), self._tried.review(action, context)
        if was.decision is not is_.decision:
            self.found.append(
                {
                    "agent": self._agent,
                    "at_event": self._at,
                    "was": was.decision.value,
                    "is": is_.decision.value,
                    "rule": is_.rule or was.rule or "",
                    "call": f"{action.tool} {subject_of(action.input)}"[:LONGEST_CALL],
                    "reasoning": is_.reasoning or was.reasoning,
                }
            )
        return is_

    def following(self, recorded: Iterator[tuple[int, events.AnyEvent]]) -> Iterator[tuple[int, events.AnyEvent]]:
        """Yield the events of a journal, and note where it is."""
        for self._at, event in recorded:
            self._agent = event.agent
            yield self._at, event

    def of(self, agent: str | None) -> list[dict[str, Any]]:
        """Return the calls of an agent; None for those of a recording without names. Each is returned once."""
        wanted = [one for one in self.found if agent is None or one["agent"] == agent]
        self.found = [one for one in self.found if one not in wanted]
        return wanted
