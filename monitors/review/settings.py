"""Settings of reviews."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from monitors.contract.words import Profile, Sensitivity
from monitors.review.rules.rules import Program, Rule
from monitors.review.shell.launchers import LauncherLayout


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """How strict reviews are, and what is added to the built-in knowledge."""

    threshold: float = 0.7
    """Risk from which an action is blocked, 0 to 1."""
    scored: bool = True
    """Whether the threshold and the warnings count. If not, destructive actions are still blocked, and the rest
    runs."""
    sensitivity: Sensitivity = Sensitivity.MEDIUM
    """How early a warning comes; blocks are the threshold's."""
    profile: Profile = "standard"
    """`strict`: nothing is inside a workspace and nothing is reversible. `container`: the machine is thrown away
    after the run, so that files count as scratch wherever they lie; data that leaves it is judged as usual."""
    rules: tuple[Rule, ...] = ()
    """Rules of the user's own, tried before the built-in ones."""
    programs: tuple[Program, ...] = ()
    """Programs that the user describes; each stands in for what is built in of the same name."""
    launchers: tuple[LauncherLayout, ...] = ()
    """Launchers of the user's own; each stands in for the built-in one of the same words."""
    disabled: frozenset[str] = frozenset()
    """Names of rules that do not count. The rules that protect chaperon itself cannot be disabled."""
    writable: tuple[str, ...] = ()
    """Absolute paths beside the workspace that an agent may write to, such as a shared cache."""
    tool_hints: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    """Annotations of MCP tools by full name: `readOnlyHint`, `destructiveHint`, `openWorldHint`, by their servers or
    the user."""
