"""Tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitors.contract.words import MonitoringLevel

MAX_PROMPT_BYTES = 1024 * 1024
"""Longest prompt accepted, in bytes of UTF-8. The model's own context ends well before. A longer text belongs in a
file."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Usage of a task from which a person is notified. None means no limit of that kind.

    The defaults are for real agents. The figures of the limits profile `mission` (100 file operations, 512 MB, 300 s,
    100,000 tokens) stop those within minutes: one idle CLI alone holds 205 MB.
    """

    max_file_operations: int | None = 10_000
    """Files written, edited or deleted by actions. A long healthy session makes some hundreds."""
    max_memory_mb: int | None = 8_192
    """Resident memory of the whole process tree, in MiB: a CLI, and a build or a test run beside it."""
    max_execution_time_seconds: int | None = 86_400
    """Wall time of the run, in seconds. Agents work for hours; one that is still at it after a day is looked at."""
    max_token_usage: int | None = 100_000_000
    """Tokens in and out, cached ones counted. Of 33 real sessions four used more than 16 million."""
    max_cost_usd: float | None = None
    """Cost of the run by the CLI's report, in US dollars. It is wrong behind proxies, so tokens are counted as well."""
    max_steps: int | None = None
    """Calls of tools that are answered, whether they run or not: a runaway that is refused goes on asking."""


@dataclass(frozen=True, slots=True)
class Task:
    """A prompt, where it is to be done, and what is known of its bounds."""

    id: str
    """Example: `t-3f9a`. Made by the runtime."""
    prompt: str
    """The prompt for the agent, word for word."""
    repository: str
    """Absolute path of the repository."""
    expected_paths: tuple[str, ...] = ()
    """Globs relative to the repository of what the task should touch; empty means not stated."""
    constraints: tuple[str, ...] = ()
    """Sentences the agent must keep to."""
    goals: tuple[str, ...] = ()
    """Sentences that say when the task is done, most important first."""
    limits: Limits = field(default_factory=Limits)
    """Limits of its usage."""
    model: str | None = None
    """Passed to the CLI; None leaves its default."""
    permission_mode: str = "default"
    """The CLI's permission mode. In `default` a call whose hook failed is still asked of the second gate."""
    resume_session: str | None = None
    """A session of the CLI to continue, or None for a new one."""
    keep_open: bool = False
    """Whether the agent waits for more to be said after a turn, instead of finishing."""
    monitoring_level: MonitoringLevel = MonitoringLevel.NORMAL
    """How closely its agent is watched."""
    approval: Mapping[str, Any] | None = None
    """Keys of the configuration's section `approval` for this task; None for the configured ones."""
    labels: tuple[str, ...] = ()
    """Words by which people find it, and steer its agents together with others."""
