"""The whole configuration, with its defaults.

`docs/reference/configuration.md` lists it for readers; `make docs` draws that from here.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from interventions.approval import ApprovalSettings
from monitors.contract.bounds import Count, Days, Pause, Seconds, Share
from monitors.contract.tasks import Limits
from monitors.contract.words import Decision
from monitors.masking import checked_patterns
from supervisor.config.sections.base import (
    AbsolutePath,
    Expression,
    FilePath,
    PluginName,
    PluginNames,
    Section,
    Texts,
    Without,
)
from supervisor.config.sections.embedded import embeds, settings_from
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.config.sections.interventions import Interventions
from supervisor.config.sections.knowledge import KnownLauncher, KnownProgram, KnownRule, Pieces
from supervisor.config.sections.patterns import PatternsSection, ProgressSection
from supervisor.config.sections.sandbox import SandboxKind, SandboxSection
from supervisor.core.decisions.stop_sequence import StopSequence
from supervisor.core.settings import DiscoverySettings, LimitSettings, MergeSettings, TaskSettings, VerifySettings

OWN_ARGUMENTS = frozenset(
    {
        # What chaperon itself says.
        "-p", "--print", "--input-format", "--output-format", "--verbose", "--permission-prompt-tool", "--permission-prompts",
        "--permission-mode", "--settings", "--session-id", "--resume", "-r", "--fork-session", "--resume-session-at",
        # What would take the run out of its hands.
        "--continue", "-c", "--bg", "--background", "--cloud", "--teleport", "--tmux", "--from-pr", "--worktree", "-w",
        "--remote-control", "--no-session-persistence", "--help", "-h", "--version", "-v",
        # What would take the gate away.
        "--bare", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions",
    }
)  # fmt: skip
"""Arguments of the CLI that cannot be configured. `--bare` calls no hooks; `--settings` is what keeps a user's file
from asking for that."""

CREDENTIAL = r"^(environment|file:/.+|command:.+|systemd:[A-Za-z0-9._-]+|)$"
"""Places of a credential."""

RECORD_KEY = r"^(file:/.+|command:.+|systemd:[A-Za-z0-9._-]+|)$"
"""Places of the key of records."""

MISSION_LIMITS: Mapping[str, int] = {
    "max_file_operations": 100,
    "max_memory_mb": 512,
    "max_execution_time_seconds": 300,
    "max_token_usage": 100_000,
}
"""The limits of the `mission` profile. One idle CLI holds about 205 MB, so they stop ordinary agents within minutes."""


_REAL = Limits()
"""The limits are words of the journal too, where a task may have others, so that their bounds stand here."""


def _variable_names(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"{name!r} is no name of an environment variable: letters, digits and underscores are")
        if "\0" in text:
            raise ValueError(f"the value of {name} contains a NUL character, which no environment can hold")
    return value


def _names(value: tuple[str, ...]) -> tuple[str, ...]:
    _variable_names(dict.fromkeys(value, ""))
    return value


def _arguments(value: tuple[str, ...]) -> tuple[str, ...]:
    for argument in value:
        name = argument.partition("=")[0]
        # The CLI takes `-rID` for `-r ID`, and `-pc` for `-p -c`.
        if name in OWN_ARGUMENTS or (name[:1] == "-" != name[1:2] and name[:2] in OWN_ARGUMENTS):
            raise ValueError(
                f"{name!r} is not for the configuration: chaperon sets it itself, or could not watch over the agent with it"
            )
    return value


def _patterns(value: dict[str, str]) -> dict[str, str]:
    if value and (problem := checked_patterns(value)):
        raise ValueError(problem)
    return value


def _below(value: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse what lies in no workspace, and git's own folder."""
    for path in value:
        steps = path.rstrip("/").split("/")
        if {"", ".", "..", ".git"}.intersection(steps):
            raise ValueError(f"{path!r} is no path below a workspace; write it relative, without `.`, `..` and `.git`")
    return value


def _mode(value: Any) -> Any:
    """Read `"0600"` in quotes, or from the environment, as the octal number it means."""
    return int(value, 8) if isinstance(value, str) and re.fullmatch(r"0o?[0-7]{3}", value) else value


def _private(value: int) -> int:
    if value not in (0o600, 0o660):
        raise ValueError(f"{value:#o} is not one of 0600 and 0660: the socket steers agents")
    return value


PermissionMode = Literal["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]
"""The CLI's own modes."""


class Agent(Section):
    """How the CLI is started."""

    command: AbsolutePath | None = None
    """Path of the CLI. Empty: `claude` on PATH, then the one that the `[claude]` extra brought."""
    arguments: Annotated[Texts, AfterValidator(_arguments)] = ()
    """Further arguments for the CLI, one a list item. Those that chaperon sets itself, and those that would take the
    agent out of its hands, are refused."""
    environment: Annotated[dict[str, str], AfterValidator(_variable_names)] = Field(default={}, repr=False)
    """Variables that agents get beside the clean environment, by name. Values are never shown."""
    permission_mode: PermissionMode = "default"
    """The CLI's own permission mode. In `default` a call whose review failed is still asked of a second gate; under
    `bypassPermissions` the review is the only one."""
    own_config_dir: bool = False
    """Whether each agent gets a CLAUDE_CONFIG_DIR of its own: no settings, memory or login of the user reach it."""
    settings_hooks: bool = False
    """Whether hooks that settings of the CLI name, the user's own in `~/.claude` among them, run in agents. The CLI
    runs them without a question, and they can change a call last: one that changes a call after its review ends the
    agent."""
    settings_servers: bool = False
    """Whether MCP servers that settings of the CLI name, the user's own among them, are started for agents. Those of
    `--mcp-config` among `agent.arguments` always are."""
    settings_environment: Annotated[Texts, AfterValidator(_names)] = ()
    """Variables that settings of a repository may set in agents although they steer the CLI or what it runs, as
    ANTHROPIC_BASE_URL does. Others count once a person trusts the repository (`chaperon trust`), these always."""
    cgroups: Literal["auto", "never"] = "auto"
    """Whether agents are held by control groups where the machine gives them: `auto`, or `never`, which walks process
    trees instead."""
    max_processes: Count | None = 4_096
    """Most processes and threads of one agent, if its control group can enforce it (`chaperon doctor` says). Beyond
    it the agent's forks fail, and no others. The CLI has 9, with `make -j64` beside it 154, test runs with browsers and
    Java some hundreds; eight agents at this bound have all 32,768 of a small machine. `null` lifts it. Without such a
    group there is no bound: the limit that a user can set on processes (RLIMIT_NPROC) counts those of all agents and of
    the person together."""
    launcher: Texts = ()
    """Command that the CLI is started through, one word a list item; the CLI's own command is appended, behind that of
    `agent.sandbox`."""
    credential: Annotated[str, Field(pattern=CREDENTIAL)] = ""
    """Source of the credential for the model: `environment`, as ANTHROPIC_API_KEY of the daemon; `file:PATH`, which
    only its owner may read; `command:PROGRAM ARGUMENTS`, which prints it; `systemd:NAME`, by LoadCredential= of the
    unit. A file or command is read anew when it changes, for running agents too. Agents then reach the model through
    the gateway, the one process that has the credential. Empty: as `environment` behind a sandbox; without one, agents
    have the daemon's credential themselves. Another source is taken live: by agents behind the gateway at once, by
    others at their next launch."""
    at_daemon_end: Literal["go_on", "pause"] = "go_on"
    """Fate of agents at work once the daemon has ended in order and is back: they go on by themselves, or are held
    until a person lets them (`chaperon resume --all`). Meanwhile they wait at their next tool call either way."""
    sandbox: SandboxKind = "none"
    """Kind of the sandbox that holds an agent's processes beside the review: `bubblewrap`, namespaces and mounts of its
    own; `landlock`, rules of the kernel about files, signals and tracing; `auto`, the stronger of these that works; or
    `none`. One that is asked for and cannot be had starts no agent. The section `sandbox` says what agents reach in
    it."""


class Socket(Section):
    """The socket that commands come in by."""

    mode: Annotated[int, BeforeValidator(_mode), AfterValidator(_private)] = 0o600
    """File mode, octal: 0600, or 0660 to let the group's members steer agents too."""


@embeds(StopSequence)
class StopSection(Section):
    """The steps by which an agent is ended. Processes that are left after the last step are killed."""


class ReviewerSection(Section):
    """The review of every tool call before it runs."""

    enabled: bool = True
    """Whether calls are scored. The rules against destruction, and yours, hold either way."""
    risk_threshold: Share = 0.7
    """From this risk on a call is blocked, 0 to 1. Lower is stricter."""
    review_mode: Literal["blocking", "async"] = "blocking"
    """Every call is reviewed before it runs. `blocking`: it also waits until the journal has the review. `async`: a
    call of low risk that changes nothing does not wait for the journal; its review is still written."""
    rules: Annotated[tuple[KnownRule, ...], Field(strict=False)] = ()
    """Rules that are added to the built-in knowledge, before it: what agents must not run. Those of the section `rules`
    look at the text of a call, whatever its tool."""
    programs: Annotated[tuple[KnownProgram, ...], Field(strict=False)] = ()
    """Programs of yours, and which of their uses change nothing."""
    launchers: Annotated[tuple[KnownLauncher, ...], Field(strict=False)] = ()
    """Programs of yours that start another one."""
    words: Pieces = Field(default_factory=dict)
    """Pieces that patterns share: `<name>` in `match` and `reads` is the piece of that name. Lower case letters and
    hyphens."""


_NOT_MODIFY = Without((Decision.MODIFY,))


class RuleSection(Section):
    """A rule of your own for the reviewer, which looks at the text of a call.

    Yours come before the built-in ones, in order; the first that matches decides, but none of yours allows what a
    critical built-in rule blocks. A regular expression sees the text as the agent wrote it, and not what runs: options
    between the words, quotes, variables, `env X=1 …`, `bash -c`, aliases and scripts pass it by. What must not run is
    said by a rule of `reviewer.rules`, which means a program however it is started.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    """Its name in reviews and incidents: lower case letters, digits, dots and hyphens. Example: `own.no-terraform`."""
    tool: Annotated[str, Field(min_length=1)] = "*"
    """The tool's name as a glob. Examples: `Bash`, `mcp__github__*`."""
    match: Expression = ""
    """Regular expression that is searched in the command, path or address of the call. Empty matches every call of
    the tool."""
    decision: Annotated[Decision, Field(strict=False), _NOT_MODIFY]
    """`allow`, `warn` or `block`. (`modify` needs to know what to run instead, which no pattern says.)"""
    reason: Annotated[str, Field(min_length=1)]
    """The message to the agent: the reason, and the alternative."""

    @model_validator(mode="after")
    def _decidable(self) -> "RuleSection":
        if self.decision is Decision.MODIFY:
            raise ValueError("a rule cannot decide `modify`; use allow, warn or block")
        return self


class ModelPrice(Section):
    """The price of a model, in US dollars for a million tokens.

    It is for models that the CLI takes for another, as behind a proxy.
    """

    model: Annotated[str, Field(min_length=1)]
    """The model's name as the CLI says it, or a glob of names. Example: `claude-*`."""
    input: Annotated[float, Field(ge=0)]
    """Of fresh input."""
    output: Annotated[float, Field(ge=0)]
    """Of output."""
    cache_write: Annotated[float, Field(ge=0)] = 0.0
    """Of input that is written into the cache."""
    cache_read: Annotated[float, Field(ge=0)] = 0.0
    """Of input that is read from the cache."""


@embeds(LimitSettings, own_first=True)
class Resources(Section):
    """Limits of one task, unless it has its own. `null` lifts a limit.

    Tokens and cost are those of all launches of an agent, by the CLI's report; replies not reported yet are estimated.
    """

    profile: Literal["real", "mission"] = "real"
    """Source of limits that are not written here: `real` fits ordinary agents; `mission` is 100 file operations, 512
    MiB, 300 s and 100,000 tokens, for small closed tasks."""
    max_file_operations: Count | None = _REAL.max_file_operations
    """Files written, edited or deleted."""
    max_memory_mb: Count | None = _REAL.max_memory_mb
    """Resident memory of the whole process tree, in MiB. One idle CLI holds about 205."""
    max_execution_time_seconds: Count | None = _REAL.max_execution_time_seconds
    """Wall time of the run, in seconds."""
    max_token_usage: Count | None = _REAL.max_token_usage
    """Tokens in and out, cached ones counted, subagents' too."""
    max_steps: Count | None = None
    """Calls of tools that are answered, whether they run or not. At the limit reads are refused as well."""
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    """Cost of the run, in US dollars. Empty, because behind proxies the CLI's prices are wrong; see `prices`."""
    max_cost_per_day_usd: Annotated[float, Field(gt=0)] | None = None
    """Cost of all agents together on one day of UTC, in US dollars. Once it is used up, all agents are held at their
    next call, and so are those that start. They go on by themselves when the day is over, or by `chaperon resume`."""
    max_tokens_per_day: Count | None = None
    """Tokens of all agents together on one day of UTC, cached ones counted; as above. A subscription has no price, and
    tokens are what it uses up."""
    max_account_cost_per_day_usd: Annotated[float, Field(gt=0)] | None = None
    """Cost of the agents of one account on one day of UTC, in US dollars; as above. An account is named by its
    credential (`chaperon budgets`), so that another credential has a budget of its own."""
    max_account_tokens_per_day: Count | None = None
    """Tokens of the agents of one account on one day of UTC; as above."""
    prices: Annotated[tuple[ModelPrice, ...], Field(strict=False)] = ()
    """Prices of models, which count instead of the CLI's; the first that fits."""

    @model_validator(mode="before")
    @classmethod
    def _from_profile(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("profile") == "mission":
            return {**MISSION_LIMITS, **value}
        return value

    def limits(self) -> Limits:
        """The same as the protocol's type."""
        return settings_from(Limits, self.model_dump())


@embeds(ApprovalSettings)
class Approval(Section):
    """Actions that wait for a person, who answers with `chaperon approve` or `chaperon deny`."""


def _loopback(value: str) -> str:
    host, _, port = value.rpartition(":")
    if host not in ("127.0.0.1", "localhost", "[::1]") or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError(
            f"{value!r} is no port of this machine alone: write 127.0.0.1:PORT, localhost:PORT or [::1]:PORT"
        )
    return value


class MetricsSection(Section):
    """Metrics for Prometheus. The socket serves them at `/metrics` always."""

    listen: Annotated[str, AfterValidator(_loopback)] | None = None
    """A TCP address of this machine alone on which `/metrics` is served too, and nothing else. Example:
    `127.0.0.1:9464`; `chaperon dashboard` draws it in Grafana. Empty: none. Every user of the machine can read the
    names of agents and project folders there; pages of the web cannot."""


def _address(value: str) -> str:
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value):
        raise ValueError("this is no address; it begins with a service and ://, as in mailto://… or journal://")
    return value


class Channel(Section):
    """A way to tell people of incidents."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    """Its name in `interventions.kinds.emergency_stop.notification_channels` and in incidents: lower case letters,
    digits, hyphens and underscores."""
    url: Annotated[str, AfterValidator(_address)] = Field(repr=False)
    """Address in the form of apprise, which the `[notify]` extra brings, with its secrets; never shown. Examples:
    `mailto://…`, `slack://…`. `journal://` is the journal of systemd, and `desktop://` this desktop by notify-send:
    neither needs apprise."""
    min_severity: Literal["low", "medium", "high", "critical"] = "high"
    """Incidents below this are not sent."""
    approvals: bool = True
    """Whether it reports actions that wait for a person, which are no incidents. An action that gets its reply
    before the message is sent is left out."""
    ends: bool = True
    """Whether it reports agents that are done, and agents that wait to be told more, which are no incidents."""
    group_seconds: Pause = 10
    """How long after an incident others are gathered into the same message, in seconds."""
    digest_seconds: Pause = 600
    """How long they are gathered once five messages were sent within that time, in seconds: a digest instead of a
    storm. What is critical or waits for a reply is gathered for a minute at most. 0 makes no digests."""


class Notify(Section):
    """Notification of people about incidents, beside the incident log."""

    channels: Annotated[tuple[Channel, ...], Field(strict=False)] = ()
    """The channels."""
    panel: Annotated[str, Field(pattern=r"^(https?://\S+)?$")] = ""
    """The address at which you reach the panel, for links in messages; empty for none. Example:
    `http://127.0.0.1:8765`."""

    @model_validator(mode="after")
    def _told_apart(self) -> "Notify":
        for name, count in Counter(channel.name for channel in self.channels).items():
            if count > 1:
                raise ValueError(f"{count} channels are named {name!r}; give each a name of its own")
        return self


class Audit(Section):
    """The daemon's own log, and its records."""

    log_level: Literal["debug", "info", "warn", "error"] = "info"
    """Least level of the daemon's messages on standard error."""
    retain_days: Days | None = None
    """How long the journal, what ended agents printed and reports of incidents are kept, in days; nothing: for ever,
    but for reports, for which `interventions.kinds.emergency_stop` says how long. The journal goes by whole files of 64
    MiB, as far as every exporter has sent it and no live agent is in it. Summaries of agents and the incident log
    stay."""
    store: Literal["masked", "full"] = "masked"
    """How what agents do is written down: `masked`, with a mark such as `[mail:3f2a91bc04d7e5f8]` in the place of each
    secret and of personal data, or `full`. Equal values have equal marks. Agents, their reviews and going on are not
    touched by it. Takes effect at the daemon's next start."""
    key: Annotated[str, Field(pattern=RECORD_KEY)] = ""
    """Source of the key of marks and seals: `file:PATH`, which others may not read; `command:PROGRAM ARGUMENTS`, which
    prints it; or `systemd:NAME`. Empty: one that the first start draws, in `protection.key` in the state directory.
    Takes effect at the daemon's next start."""
    encrypt: bool = False
    """Whether the journal, the snapshot and the archive of ended agents are encrypted on the disk, and what CLIs print
    also with `store: full`. Agents' names, times and kinds of records stay readable. It needs `key`: a key beside what
    it seals protects nothing. Takes effect at the daemon's next start; what was written before stays as it is."""
    patterns: Annotated[dict[str, str], AfterValidator(_patterns)] = Field(default={})
    """Regular expressions of RE2 for values that are masked as well, by the name that their marks have.
    Example: `{employee: '\\bE-[0-9]{6}\\b'}`."""
    unmasked: Texts = ()
    """Values that are never masked, whatever they look like. Example: `hello@example.org`."""
    signing_key: Annotated[str, Field(pattern=r"^(file:/.+|systemd:[A-Za-z0-9._-]+|)$")] = ""
    """Source of the key that signs the journal: `file:PATH`, which only its owner may read, or `systemd:NAME`, by
    LoadCredential= of the unit. Empty: one in the state directory, which the first start makes. Lines that are not
    signed with it are not believed at a start."""
    exporters: Annotated[tuple[ExporterSettings, ...], Field(strict=False)] = ()
    """Systems to which what happens is sent; those of plugins are named by `plugins.exporters`."""
    export_format: Literal["json", "csv"] = "json"
    """In what form `chaperon tail --export` and `chaperon incidents --export` print: `json` lines as they are, or
    `csv` with a head."""

    @model_validator(mode="after")
    def _encrypts_with_a_key(self) -> "Audit":
        if self.encrypt and not self.key:
            raise ValueError("encrypt needs a key that does not lie beside the records: name one with audit.key")
        return self


class CheckpointsSection(Section):
    """When checkpoints are made by themselves, and how many are kept."""

    enabled: bool = True
    """Whether checkpoints are made by themselves: at the start, at the end of each turn, before risky actions, after
    tests passed."""
    periodic: int = Field(default=5, ge=0, le=1_000_000)
    """A checkpoint of the whole project after every so many of its tasks that were done, in whatever worktrees; 0 makes
    none."""
    before_autopilot: bool = Field(default=True, alias="beforeAutopilot")
    """Whether one is made when a person lets go of an agent: resumes it, or tells it more after its turn. It has what
    that person changed."""
    spacing_seconds: Pause = 10
    """Least time from one checkpoint to one that nothing calls for but files that changed, in seconds: what a
    rollback costs in good work at most. With 0 each change is captured; that slows a run whose model answers
    within 300 ms by 4 %."""
    also: Annotated[Texts, AfterValidator(_below)] = ()
    """Paths that are captured although git ignores them: files, or folders with all their content, below the
    workspace. Example: `.env`."""
    max_file_mb: Count = 10
    """How large a file may be, in MiB. Larger ones are named in the checkpoint, without their content, and a rollback
    leaves them as they are."""
    max_count: Count = Field(default=50, alias="maxCount")
    """How many are kept for each workspace; the oldest unnamed one goes first. Git stores what is equal once, so most
    cost little."""
    max_age_days: Days = Field(default=30, alias="maxAgeDays")
    """How long unnamed ones are kept, in days; as long as the records about them."""
    quota_mb: Count = 4_096
    """Size of one project's store, in MiB, above which more of the oldest are deleted. Named ones and the last three
    stay; if they alone exceed it, an incident reports that. A hundred checkpoints of a large repository take some
    hundred."""


class WorkspacesSection(Section):
    """Workspaces of agents."""

    mode: Literal["in-place", "new"] = "in-place"
    """In the worktree that is named, or each in a new one beside it, on a branch of its own; `chaperon run
    --workspace` says otherwise for one task."""
    base: str = "HEAD"
    """The commit that new ones start from."""
    folder: AbsolutePath | None = None
    """Folder of new ones; none: `$XDG_DATA_HOME/chaperon/workspaces`."""
    set_up: FilePath | None = None
    """A program that is run in each new one before its agent starts, with AGENT, WORKSPACE and REPOSITORY in its
    environment. Where it fails, no agent is started and the workspace is kept."""
    set_up_seconds: Seconds = 600
    """How long that may take, in seconds; fetching dependencies takes minutes."""
    at_end: Literal["remove", "keep"] = "remove"
    """The fate of one whose agent ended well: removed if all in it is committed, and its branch only if it has no
    commit of its own; or kept. That of any other agent is kept."""


@embeds(VerifySettings)
class VerifySection(Section):
    """The check of agents' work: a command that chaperon runs itself, and believes instead of the agent.

    It runs in the agent's containment, without the keys of the model's API.
    """

    projects: dict[AbsolutePath, str] = Field(default={})
    """Commands of projects, by the folder of the main worktree, instead of `command`."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        """Take `verify: make test` for `verify: {command: make test}`."""
        return {"command": value} if isinstance(value, str) else value


@embeds(MergeSettings)
class MergeSection(Section):
    """The fate of the branches of agents that worked in workspaces of their own."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        """Take `merge: auto` for `merge: {mode: auto}`; YAML reads `off` as a truth value."""
        value = {"mode": value} if isinstance(value, str | bool) else value
        return {**value, "mode": "off"} if isinstance(value, dict) and value.get("mode") is False else value


@embeds(TaskSettings)
class TasksSection(Section):
    """Stored tasks (`chaperon task`), which agents claim one after the other."""


class HooksSection(Section):
    """Scripts of yours for when something happens.

    They run one after the other in the daemon's environment, in the folder that they are in, and get the facts as
    variables, each also with CHAPERON_ and AXIOM_ before its name. `pre-start` and `pre-merge` veto by an exit code
    other than 0; any other failure is logged and changes nothing. A relative path is below the configuration file's
    directory. Scripts of the same names in `.chaperon/hooks/` of a repository run after these, in its main checkout,
    once a person trusts them (`chaperon trust`).
    """

    pre_start: FilePath | None = Field(default=None, alias="pre-start")
    """Before each launch of an agent, which waits for it: of one that is started again too. TASK_ID, AGENT, WORKSPACE,
    REPOSITORY (the main checkout), BRANCH."""
    post_complete: FilePath | None = Field(default=None, alias="post-complete")
    """After an agent has ended. TASK_ID, AGENT, WORKSPACE, BRANCH, STATUS (`done`, `failed`, `stopped` or `lost`),
    DURATION in seconds."""
    on_pause: FilePath | None = Field(default=None, alias="on-pause")
    """After an agent was paused. TASK_ID, AGENT, WORKSPACE, BRANCH, REASON, RUNNING_TASKS (the ids of all that have
    not ended)."""
    on_approval: FilePath | None = Field(default=None, alias="on-approval")
    """When an action waits for a person. TASK_ID, AGENT, WORKSPACE, BRANCH, REQUEST (its id), TOOL, ACTION (its main
    field), WHY, DEADLINE in seconds."""
    on_intervention: FilePath | None = Field(default=None, alias="on-intervention")
    """After an intervention was chosen. TASK_ID, AGENT, WORKSPACE, BRANCH, INTERVENTION (its id), KIND, PATTERN,
    SEVERITY, MESSAGE, EFFECT (the effect of its own that a plugin's intervention names, or empty), DETAILS (JSON)."""
    on_error: FilePath | None = Field(default=None, alias="on-error")
    """After an incident that is an error: not after words to an agent and limits that tighten, which are routine.
    ERROR_TYPE, MESSAGE, and, if it is an agent's, TASK_ID, AGENT, WORKSPACE, BRANCH."""
    pre_merge: FilePath | None = Field(default=None, alias="pre-merge")
    """Before a merge, which waits for it, and is not made if it fails or lasts too long. TASK_ID, AGENT, BRANCH,
    TARGET, REPOSITORY."""
    post_merge: FilePath | None = Field(default=None, alias="post-merge")
    """After a merge. Those of `pre-merge`, and COMMIT_HASH."""
    on_conflict: FilePath | None = Field(default=None, alias="on-conflict")
    """If the two sides of a merge disagree. Those of `pre-merge`, and FILES (one a line), LEVEL."""
    on_discovery: FilePath | None = Field(default=None, alias="on-discovery")
    """If an agent notes a fact for others. TASK_ID, AGENT, WORKSPACE, BRANCH, DISCOVERY_ID, SCOPE, CONTENT."""
    repositories: bool = True
    """Whether scripts of repositories run, if a person trusts them."""
    timeout: Seconds = 30
    """How long a script may take, in seconds, before it is ended; at the daemon's end also how long those that are
    due may take together."""

    def programs(self) -> dict[str, str]:
        """The scripts that run, by the key that names them."""
        # Each key of the section that names a script has an alias.
        fields = ((field.alias, getattr(self, name)) for name, field in type(self).model_fields.items())
        return {alias: path for alias, path in fields if alias is not None and path is not None}


@embeds(DiscoverySettings)
class DiscoveriesSection(Section):
    """Facts that agents note for one another; `chaperon discoveries` lists them."""


class Plugins(Section):
    """Parts of yours, or of other distributions.

    Each is named by its entry point of the group `chaperon.KEY`, or by the path of a Python file, which ends in `.py`
    and may be relative to the configuration file's directory. They run within the daemon, with all its rights.
    """

    reviewers: PluginNames = ()
    """Reviewers that are asked beside the built-in one; the strictest answer counts, and one that raises is a block
    that names it."""
    rules: PluginNames = ()
    """Rules in the language of the built-in knowledge, with examples that are checked."""
    risk: PluginName | None = None
    """A risk calculator in place of the built-in one."""
    detectors: PluginNames = ()
    """Detectors beside the built-in ones."""
    interventions: PluginNames = ()
    """Interventions that are asked before the built-in ones of their kind."""
    strategy: PluginName | None = None
    """The strategy that `interventions.strategy.type: custom` means."""
    exporters: PluginNames = ()
    """Exporters of the audit record, beside those of `audit.exporters`."""
    recovery: PluginNames = ()
    """Recoveries that are asked what follows an agent's end, before the built-in plan."""

    def wanted(self, kind: str) -> tuple[str, ...]:
        """The plugins of one kind, in order."""
        named = getattr(self, kind)
        return named if isinstance(named, tuple) else (named,) if named else ()

    def files(self) -> tuple[str, ...]:
        """The paths among all that are named."""
        named = (name for kind in type(self).model_fields for name in self.wanted(kind))
        return tuple(name for name in named if name.endswith(".py"))


class Config(Section):
    """Everything that can be set."""

    agent: Agent = Agent()
    sandbox: SandboxSection = SandboxSection()
    socket: Socket = Socket()
    stop: StopSection = StopSection()
    reviewer: ReviewerSection = ReviewerSection()
    rules: Annotated[tuple[RuleSection, ...], Field(strict=False)] = ()
    """Rules of your own for the reviewer, first match first."""
    protected_paths: Annotated[tuple[AbsolutePath, ...], Field(strict=False)] = ()
    """Paths that no agent may touch, with all below them, beside chaperon's own."""
    patterns: PatternsSection = PatternsSection()
    progress: ProgressSection = ProgressSection()
    interventions: Interventions = Interventions()
    resources: Resources = Resources()
    approval: Approval = Approval()
    metrics: MetricsSection = MetricsSection()
    notify: Notify = Notify()
    audit: Audit = Audit()
    checkpoints: CheckpointsSection = CheckpointsSection()
    workspaces: WorkspacesSection = WorkspacesSection()
    verify: VerifySection = VerifySection()
    merge: MergeSection = MergeSection()
    tasks: TasksSection = TasksSection()
    hooks: HooksSection = HooksSection()
    discoveries: DiscoveriesSection = DiscoveriesSection()
    plugins: Plugins = Plugins()
