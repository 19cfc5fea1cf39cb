"""Watches what tools print: secrets that came into the conversation, and pages that speak to the agent.

Instructions are looked for only in what comes from outside: pages, searches, MCP servers and downloads. In files of a
project, and in prompts for subagents, such phrases are ordinary: of 312 real sessions 252 had one there, nearly all of
them the CLI's own reminders.
"""

import re
from collections.abc import Sequence

from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, ToolReturned
from monitors.review.prediction import OutputFinding, in_output

FROM_OUTSIDE = re.compile(r"WebFetch|WebSearch|mcp__.*")
"""Tools whose results come from others."""

DOWNLOAD = re.compile(r"\b(?:curl|wget|http|lynx|w3m)\b")
"""Commands whose output comes from others."""

MAX_SEEN = 32
"""Kinds of findings that are reported once each in a run; there are fewer."""


class Outputs:
    """Raises `secret_in_output` and `instructions_in_output`, each kind once in a run."""

    name = "outputs"
    watches = frozenset({ToolReturned})

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Look through a result."""
        if not isinstance(observation, ToolReturned) or observation.refused or len(self._seen) >= MAX_SEEN:
            return ()
        outside = from_outside(observation)
        return [
            self._issue(observation, found)
            for found in in_output(observation.text, instructions=outside)
            if self._is_new(found)
        ]

    def _is_new(self, found: OutputFinding) -> bool:
        new = (found.type, found.detail) not in self._seen
        self._seen.add((found.type, found.detail))
        return new

    def _issue(self, observation: ToolReturned, found: OutputFinding) -> Issue:
        return Issue(
            type=found.type,
            severity=found.severity,
            confidence=0.5,
            impact_factor=0.0,
            began=observation.seq,
            sentence=f"{found.sentence} It came from {observation.tool}.",
            evidence=(observation.seq,),
            details={"kind": found.detail, "tool": observation.tool},
            key=found.detail,
        )


def from_outside(observation: ToolReturned) -> bool:
    """Whether the tool's output was written outside of the project."""
    command = observation.input.get("command")
    downloaded = isinstance(command, str) and DOWNLOAD.search(command) is not None
    return downloaded or FROM_OUTSIDE.fullmatch(observation.tool) is not None
