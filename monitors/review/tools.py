"""The tools that are not a shell: what each would read, write or reach."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from monitors.review import levels
from monitors.review.findings import Finding, effect
from monitors.review.programs.writing import writes_path
from monitors.review.scene import Scene


def findings(scene: Scene, tool: str, given: Mapping[str, Any]) -> Iterator[Finding]:
    """What the tool call would do."""
    handler = _TOOLS.get(tool)
    if handler is not None:
        yield from (found for found in handler(scene, given) if found is not None)
    elif tool.startswith("mcp__"):
        yield Finding("tools.mcp", levels.MINOR, "", effect=effect("tool_call", f"calls {tool}", target=tool))
    elif tool not in QUIET:
        yield Finding(
            "tools.unknown",
            levels.MODERATE,
            "",
            effect=effect("tool_call", f"calls {tool}, a tool not known here", target=tool),
        )


QUIET = frozenset({"TodoWrite", "TodoRead", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion", "BashOutput", "TaskOutput", "ListMcpResourcesTool", "ToolSearch", "LSP", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList"})  # fmt: skip
"""Tools of the CLI that touch nothing outside its own conversation."""


def text(given: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that is a text."""
    for name in names:
        found = given.get(name)
        if isinstance(found, str):
            return found
    return ""


def _write(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    path = text(given, "file_path", "notebook_path", "path")
    if not path:
        yield Finding("tools.malformed", levels.CARE, "names no file to write", "Give file_path as a text.")
        return
    yield writes_path(scene, scene.places.absolute(path))


def _read(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    path = text(given, "file_path", "notebook_path", "path")
    if not path:
        return
    absolute = scene.places.absolute(path)
    scene.touch(absolute, "read")
    what = scene.places.secret(scene.facts.real(absolute)) or scene.places.secret(absolute)
    if what:
        yield Finding(
            "secrets.read",
            levels.HARM,
            f"reads {what}: {path}",
            "Ask the person for what is needed.",
            effect=effect("secret_read", f"reads {what} in {path}", target=path),
        )


def _fetch(_scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    url = text(given, "url", "query")
    yield Finding(
        "network.fetch",
        levels.NOTED,
        "",
        effect=effect("network", f"asks {url[:200]}", target=url[:200], reversible=True),
    )


_TOOLS: dict[str, Callable[[Scene, Mapping[str, Any]], Iterator[Finding | None]]] = {
    "Write": _write, "Edit": _write, "MultiEdit": _write, "NotebookEdit": _write, "Read": _read, "Glob": _read, "Grep": _read, "LS": _read, "NotebookRead": _read,
    "WebFetch": _fetch, "WebSearch": _fetch,
}  # fmt: skip
