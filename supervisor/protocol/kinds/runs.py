"""Events of an agent's life: its task, its launches, the lines of its CLI, its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from interventions.aftermath import Aftermath
from monitors.contract.issues import Issue
from monitors.contract.tasks import Task
from supervisor.protocol.claude.settings import RepositorySetting
from supervisor.protocol.identity import Identity
from supervisor.protocol.kinds.stamp import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSubmitted(Event):
    """Somebody wants something done; an agent of this name is to do it."""

    task: Task
    workspace: str
    session_id: str
    """The session id that the CLI is started with."""
    branch: str = ""
    """The branch of a workspace that was made for the agent; empty if it works in place."""
    project: str = ""
    """The folder that stands for all worktrees of the repository, its main one as a rule; empty in older journals."""
    base: str = ""
    """The commit that its branch was made at."""
    target: str = ""
    """The branch that the work is meant for; empty if none was checked out."""
    factors: Mapping[str, float] = field(default_factory=dict)
    """Factors from learning on the thresholds of patterns in this run, by pattern; those that are not 1."""
    origin: str = ""
    """Origin of a CLI that others started, upon which `AgentAttached` follows: `terminal`, `sdk`, `editor` or `ci`.
    Empty if chaperon starts it."""
    briefing: str = ""
    """Words of chaperon that follow the prompt in the first message; empty for none."""
    run_id: str = ""
    """The run by which the agent has a stored task, whose id is that of the task; empty if it has none."""
    opening: str = ""
    """The first message to the agent in place of the prompt; empty for the prompt itself."""
    kind: Literal["task_submitted"] = "task_submitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFound(Event):
    """A CLI is about to be started in a repository whose settings bring something, which counts or does not."""

    repository: str
    """The top of its main checkout."""
    digest: str
    """Of all that the settings bring."""
    trusted: bool
    """Whether a person said that it may count."""
    brings: tuple[RepositorySetting, ...]
    off: tuple[RepositorySetting, ...] = ()
    """Settings of the repository that are ignored for this CLI."""
    left_out: str = ""
    """Reason why the project's settings are left out as a whole, with its CLAUDE.md, skills and subagents; empty if
    they are not."""
    kind: Literal["settings_found"] = "settings_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSwapped(Event):
    """The repository's settings changed while a CLI was starting, so it is not known which of them the CLI read."""

    digest: str
    """Of what they bring now."""
    kind: Literal["settings_swapped"] = "settings_swapped"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLaunched(Event):
    """The agent's shim and CLI run."""

    shim_pid: int
    cli_pid: int
    containment: str
    """How its tree is held: `cgroup:PATH` or `subreaper`."""
    number: int = 1
    """Number of the agent's launch; each rollback leads to another. Its shim's directory is named by it."""
    identity: Identity | None = None
    """Identity of its processes; None if an older chaperon launched them."""
    account: str = ""
    """The account that pays for its calls of the model, as `supervisor.runtime.gateway.account` names it; empty if an
    older chaperon launched it."""
    kind: Literal["agent_launched"] = "agent_launched"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountChanged(Event):
    """Another account pays for the agent's calls of the model from here on, while its CLI runs."""

    account: str
    """Named as by its launch."""
    before: str
    """The account that paid until now."""
    kind: Literal["account_changed"] = "account_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialTaken(Event):
    """Another of several credentials pays for all agents from here on; each that runs has an `account_changed`."""

    account: str
    """Named as by a launch."""
    before: str
    """The account that paid until now."""
    why: str
    """The reason. Example: `the usage limit of file:/keys/one holds until 2026-10-09 17:00 UTC`."""
    kind: Literal["credential_taken"] = "credential_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAttached(Event):
    """A CLI that chaperon did not start came by its hooks; it has no shim, and chaperon holds none of its pipes."""

    cli_pid: int
    cli_start_ticks: int
    """When it started, in clock ticks since boot: with the boot, the pid means this process alone."""
    boot_id: str
    """The machine's boot."""
    terminal: str = ""
    """The device of its terminal. Example: `pts/3`. Empty if it has none."""
    mark: int = 0
    """The hard limit that every process inherits which it starts from here on; 0 if it could not be marked."""
    kind: Literal["agent_attached"] = "agent_attached"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed(Event):
    """The CLI could not be started; nothing of it runs."""

    error: str
    kind: Literal["launch_failed"] = "launch_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReceived(Event):
    """The CLI printed a line. In the journal exactly once, whatever was killed when."""

    end: int
    """Offset after the line in the agent's output file, at which reading resumes."""
    frame: Any = None
    """The line, decoded, whatever its kind; None if it was no JSON object."""
    text: str | None = None
    """The line as text, if it was no JSON object."""
    kind: Literal["line_received"] = "line_received"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePassedOver(Event):
    """The CLI printed a line over the cap; the output file has it whole."""

    start: int
    end: int
    request_id: str | None = None
    """Id of the CLI's request in the line, if it has one. It is refused, since an unread request cannot be reviewed."""
    kind: Literal["line_passed_over"] = "line_passed_over"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLineReceived(Event):
    """The CLI printed a line on its error output while it ran."""

    end: int
    """Offset after the line in `err.log`, at which reading resumes."""
    text: str
    """The line, at most 2,000 characters of it."""
    passed_over: int = 0
    """Lines before it that are in `err.log` alone, because too many came."""
    kind: Literal["error_line_received"] = "error_line_received"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputAccepted(Event):
    """The shim took a line for the CLI: it is written, once, whatever is killed from here on."""

    key: str
    """The key under which the core sent it. Example: `answer:5fadd9c6…`."""
    kind: Literal["input_accepted"] = "input_accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExited(Event):
    """The CLI ended, and with it its tree."""

    code: int | None
    """Exit code, or None if a signal ended it."""
    signal: int | None
    stderr_tail: str = ""
    """The last 4 KiB of its standard error."""
    rusage: dict[str, float] = field(default_factory=dict)
    """CPU seconds and peak memory of the CLI, from the kernel."""
    kind: Literal["agent_exited"] = "agent_exited"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVanished(Event):
    """The agent ended without an exit record; the rest of its tree was ended, for the stated reason."""

    reason: str
    ours: bool = False
    """Whether chaperon ended it by itself, after a failure of its own or because its shim could not be reached any
    more. It is then not started again."""
    kind: Literal["agent_vanished"] = "agent_vanished"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAdopted(Event):
    """A new daemon found this agent and took it over."""

    outcome: Literal["reattached", "exited", "lost", "terminal", "launched", "silent"]
    boot_id: str = ""
    """The machine's boot; empty if it is not known, as in older journals."""
    kind: Literal["agent_adopted"] = "agent_adopted"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFrozen(Event):
    """All processes of the agent are frozen."""

    micros: int
    """From the command to the last frozen process, in microseconds."""
    kind: Literal["tree_frozen"] = "tree_frozen"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnded(Event):
    """The agent's tree was killed."""

    micros: int
    """From the command to the last process gone, in microseconds."""
    left: int
    """Processes that live, as its shim and the daemon each found when they looked; 0 unless the kernel holds one."""
    kind: Literal["tree_ended"] = "tree_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesSeen(Event):
    """A sample of the agent's process tree with new values; `supervisor.runtime.services.sampling` has the interval."""

    memory_mb: float
    """Resident memory of the tree, in MiB."""
    cpu_seconds: float
    """CPU time of the tree since its first sample, or, if its group counts it, since its start."""
    processes: int
    open_files: int
    io_bytes: int
    """Bytes read and written by those processes."""
    disk_mb: float = 0.0
    """Size of the workspace without git's own files, in MiB, at its last measurement; 0 before."""
    file_operations: int = 0
    """Files written, moved or deleted in the workspace since that is watched, by whatever did it."""
    kind: Literal["resources_seen"] = "resources_seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswered(Event):
    """A model judged whether the agent is stuck; see `supervisor.runtime.services.judging`."""

    step: int
    """How many steps the agent had made."""
    issue: Issue | None = None
    """The issue that is raised, or closed, because of it."""
    stuck: bool | None = None
    """The model's judgement; None if it gave none."""
    confidence: float = 0.0
    sentence: str = ""
    cost_usd: float = 0.0
    problem: str = ""
    """Why there is no answer; empty if there is one."""
    kind: Literal["judge_answered"] = "judge_answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerFired(Event):
    """A time that the core had asked for has come."""

    name: str
    kind: Literal["timer_fired"] = "timer_fired"


@dataclass(frozen=True, slots=True, kw_only=True)
class AftermathSeen(Event):
    """The remains of an agent were looked up, after an emergency stop and the end of its processes."""

    incident_id: str
    """The incident of the stop, whose report has the same."""
    aftermath: Aftermath
    kind: Literal["aftermath_seen"] = "aftermath_seen"
