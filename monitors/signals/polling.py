"""Calls that wait for something. Repetition is their purpose, so equal answers are no loop for a long while."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

POLLING_TOOLS = frozenset({"BashOutput", "TaskOutput", "AgentOutputTool", "Monitor", "KillShell"})
"""Tools that look at what runs in the background."""


def _sign(word: str, rest: str) -> tuple[str, re.Pattern[str]]:
    """Return a word that begins a sign of waiting, and the sign's pattern.

    The word is searched first, which is fast, and only then the pattern, which begins with the word for that reason
    too.
    """
    return word, re.compile(rf"{re.escape(word)}(?<!\w{re.escape(word)}){rest}")


_SIGNS = (
    _sign("sleep", r"\s+\d"),
    _sign("watch", r"\s"),
    _sign("wait", r"\b"),
    _sign("tail", r"\s+-f"),
    ("tail", re.compile(r"(?:^|&&|;)\s*tail\s")),
    _sign("gh", r"\s+(?:run|pr)\s+(?:checks|view|watch|list|status)"),
    _sign("glab", r"\s+ci"),
    _sign("kubectl", r"\s+(?:get|describe|rollout|logs)"),
    _sign("docker", r"(?:[ -]compose)?\s+(?:ps|logs|inspect)"),
    _sign("health", r"z?\b"),
    _sign("ready", r"z?\b"),
    _sign("status", r"\b"),
    _sign("ps", r"\s+(?:aux|-ef|-p)"),
    _sign("pgrep", r"\b"),
    _sign("jobs", r"\b"),
    _sign("systemctl", r"\s+(?:status|is-active)"),
    _sign("squeue", r"\b"),
    _sign("nvidia-smi", r"\b"),
    _sign("terraform", r"\s+show"),
)

_NOT_POLLING = re.compile(r"\bgit\s+status\b")


def is_polling(tool: str, call: Mapping[str, Any]) -> bool:
    """Whether this call looks at something that changes by itself."""
    if tool in POLLING_TOOLS or tool.endswith("wait_for"):
        return True
    command = call.get("command")
    return tool == "Bash" and isinstance(command, str) and _waits(command[:1000])


@lru_cache(maxsize=256)
def _waits(command: str) -> bool:
    shown = command.lower()
    if "status" in shown:
        shown = _NOT_POLLING.sub("", shown)
    return any(word in shown and pattern.search(shown) for word, pattern in _SIGNS)
