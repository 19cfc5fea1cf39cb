"""The options by which a command says what a task is and how its agent works; `run` and `task add` share them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from supervisor.cli import common

F = TypeVar("F", bound=Callable[..., Any])

LIMITS = {
    "max_minutes": "max_execution_time_seconds",
    "max_tokens": "max_token_usage",
    "max_memory_mb": "max_memory_mb",
    "max_file_operations": "max_file_operations",
    "max_steps": "max_steps",
}
"""Options of limits, and the limits that they set."""

_APPROVAL = {
    "approval_mode": "mode",
    "require_approval_for": "require_approval_for",
    "approval_tools": "tools",
    "auto_approve": "auto_approve",
    "approval_minutes": "deadline_seconds",
}
"""Options of approvals, and the settings that they set; those that are not given are as configured."""

MOST = 1_000_000_000
"""Largest limit that the daemon takes, in the limit's own unit: `Count` in `monitors/contract/bounds.py`."""

_COUNT = click.IntRange(1, MOST)

_OPTIONS = (
    click.option(
        "--goal",
        "goals",
        multiple=True,
        help="When the task is done; may be given several times, most important first.",
    ),
    click.option(
        "--constraint", "constraints", multiple=True, help="What the agent must keep to; may be given several times."
    ),
    click.option(
        "--expect-path", "expected_paths", multiple=True, help="Glob of what the task should touch; several times."
    ),
    click.option("--model", help="The model to use; the CLI's own by default."),
    click.option(
        "--max-cost",
        "max_cost_usd",
        type=common.FiniteRange(min=0, min_open=True),
        help="What it may cost, in US dollars, before it is ended.",
    ),
    click.option(
        "--max-minutes", type=common.FiniteRange(0, MOST // 60, min_open=True), help="How long it may run, in minutes."
    ),
    click.option("--max-tokens", type=_COUNT, help="Tokens that it may use, in and out, cached ones counted."),
    click.option("--max-memory-mb", type=_COUNT, help="Memory that its processes may have, in MiB."),
    click.option("--max-steps", type=_COUNT, help="How many calls of tools it may make."),
    click.option("--max-file-operations", type=_COUNT, help="Files that it may write, edit or delete."),
    click.option(
        "--permission-mode",
        type=click.Choice(["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]),
        help="The CLI's own permission mode; as configured by default.",
    ),
    click.option(
        "--approval",
        "approval_mode",
        type=click.Choice(["off", "risky", "ask"]),
        help="Which of its actions wait for a person; as configured by default.",
    ),
    click.option(
        "--approval-type",
        "require_approval_for",
        multiple=True,
        help="Type of side effect that waits for a person, in mode ask; several times.",
    ),
    click.option(
        "--approval-tool", "approval_tools", multiple=True, help="Tool whose every call waits; several times."
    ),
    click.option("--no-approval-tool", "auto_approve", multiple=True, help="Tool that never waits; several times."),
    click.option(
        "--approval-minutes",
        type=common.FiniteRange(0, 24 * 60, min_open=True),
        help="How long an action waits before it is denied, in minutes.",
    ),
    click.option(
        "--monitoring",
        "monitoring_level",
        type=click.Choice(["normal", "strict"]),
        help="How closely it is watched; strict lowers the thresholds of detectors and of the review for it alone.",
    ),
    click.option(
        "--label", "labels", multiple=True, help="A word to find and steer it by; may be given several times."
    ),
    click.option("--base", help="The commit that a new workspace starts from; HEAD by default."),
)


def task_options(command: F) -> F:
    """Give a command the options of a task."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def body_of(about: Mapping[str, Any], limits: str) -> dict[str, Any]:
    """Return the fields of the API for options that were given.

    Args:
        about: Values by the options' names.
        limits: The name of the field with limits of its own.
    """
    given = {name: value for name, value in about.items() if value not in (None, (), False)}
    own = {limit: given.pop(name) for name, limit in LIMITS.items() if name in given}
    if "max_execution_time_seconds" in own:
        own["max_execution_time_seconds"] = max(1, round(own["max_execution_time_seconds"] * 60))
    if own:
        given[limits] = own
    if approval := {key: given.pop(name) for name, key in _APPROVAL.items() if name in given}:
        if "deadline_seconds" in approval:
            approval["deadline_seconds"] *= 60
        given["approval"] = approval
    return {name: _whole(value) for name, value in given.items()}


def _whole(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    return common.whole_text(value) if isinstance(value, str) else value
