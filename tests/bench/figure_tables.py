"""The tables of figures that the documents show, drawn from what was measured last."""

from collections.abc import Mapping, Sequence

from tests.bench.figures import Figure, markdown
from tests.bench.kept import Kept, kept

SUBJECTS: Mapping[str, str] = {
    "added": "What supervision adds to a tool call",
    "hooks": "What a hook of an attached CLI takes",
    "hooks_flood": "Hooks of attached CLIs, as fast as they come",
    "hooks_killed": "Hooks of attached CLIs while the daemon is killed",
    "checkpoint_live": "What checkpoints add to a tool call",
    "answers": "Agents in trouble, ten at once",
    "fleet": "Two hundred agents",
    "start": "Start and memory",
    "commands": "The first output of each command",
    "panel": "The panel in a browser",
    "shim": "The shim, and a stop",
    "journal": "The journal",
    "masking": "Masking and encryption",
    "wall": "The wall",
    "wire": "The wire",
    "core": "The core",
    "checkpoints": "Checkpoints",
    "checkpoints_large": "Checkpoints of half a million files",
    "review": "One review",
    "eval": "The step reviewer on collected commands",
}
"""What each benchmark is about, in the order of the page."""

HEADLINES: Mapping[str, Sequence[str]] = {
    "added": (
        "added to a tool call",
        "the daemon's own part of a decision",
        "share of a call with 300 ms model latency",
    ),
    "fleet": ("200 agents: a decision, 99th percentile, seen by the CLI",),
    "answers": ("10 agents in trouble at once: from the choice to all standing still, the slowest",),
    "start": ("start to ready: agents are adopted, calls reviewed", "resident memory of the daemon"),
    "core": ("events of a run of 400 steps, all of it, one core",),
    "checkpoints": (
        "50,000 files: 10 changed files, chaperon",
        "50,000 files: 10 changed files, times faster than git, kept private index",
    ),
    "checkpoints_large": ("500,000 files: 10 changed files, chaperon",),
    "eval": (
        "702 commands labelled dangerous: blocked or modified",
        "744 commands labelled harmless: blocked or modified",
    ),
}
"""What the first page shows, by benchmark: what a user would feel."""


def all_figures() -> str:
    """Every benchmark's table, under a heading of its own."""
    parts = kept()
    return "\n\n".join(
        f"## {says}\n\n{_taken(parts[name])}\n\n{markdown(parts[name].figures)}" for name, says in SUBJECTS.items()
    )


def headlines() -> str:
    """The few figures of the first page."""
    parts = kept()
    return markdown([_named(parts[name], what) for name, names in HEADLINES.items() for what in names])


def _taken(part: Kept) -> str:
    return f"{part.day}, at a load of {part.load[0]} before and {part.load[1]} after."


def _named(part: Kept, what: str) -> Figure:
    return next(figure for figure in part.figures if figure.what == what)
