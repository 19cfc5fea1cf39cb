"""What the settings of a repository bring into the CLI beside words: programs that it runs, and what these run under."""

from dataclasses import dataclass
from typing import Literal

BroughtKind = Literal["hook", "server", "variable", "helper", "permission", "plugin", "definition", "unread"]
"""`definition` is a skill, command or subagent with hooks or servers of its own; `unread` a file that could not be read."""


@dataclass(frozen=True, slots=True)
class RepositorySetting:
    """One thing that settings bring."""

    kind: BroughtKind
    name: str
    """What tells it from others of its kind. Examples: `PreToolUse Bash`, `NODE_ENV`, `apiKeyHelper`."""
    file: str
    """Where it stands: from the workspace's top, or absolute where it lies outside."""
    what: str = ""
    """What it runs, sets or allows, shortened, without what looks like a secret."""
