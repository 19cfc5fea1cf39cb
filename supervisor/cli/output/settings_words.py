"""Settings of a repository, described for people."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

WORDS = {
    "hook": ("hook", "hooks"),
    "server": ("MCP server", "MCP servers"),
    "variable": ("variable", "variables"),
    "helper": ("program", "programs"),
    "permission": ("permission", "permissions"),
    "plugin": ("plugin", "plugins"),
    "definition": ("skill or subagent with programs", "skills or subagents with programs"),
    "script": ("script of its hooks", "scripts of its hooks"),
    "program": ("program of the configuration", "programs of the configuration"),
    "unread": ("file that was not understood", "files that were not understood"),
}
"""Names of the kinds of settings, singular and plural."""


def summed(things: Iterable[Mapping[str, Any]]) -> str:
    """How many there are of each kind."""
    counted = Counter(thing["kind"] for thing in things)
    return ", ".join(f"{number} {WORDS[kind][number > 1]}" for kind, number in counted.items())
