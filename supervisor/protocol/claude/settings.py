"""The settings of a repository that make the CLI run programs, and the settings that these run under."""

from dataclasses import dataclass
from typing import Literal

BroughtKind = Literal[
    "hook", "server", "variable", "helper", "permission", "plugin", "definition", "script", "program", "unread"
]
"""Kinds of settings. `definition` is a skill, command or subagent with hooks or servers of its own; `script` a hook of
chaperon's own in the repository; `program` one that the configuration names; `unread` a file that could not be read."""


@dataclass(frozen=True, slots=True)
class RepositorySetting:
    """One thing that settings bring."""

    kind: BroughtKind
    name: str
    """The name among others of its kind. Examples: `PreToolUse Bash`, `NODE_ENV`, `apiKeyHelper`."""
    file: str
    """The file, relative to the workspace's top, or absolute if it lies outside."""
    what: str = ""
    """The program, value or permission, shortened, without anything that looks like a secret."""
