"""The whole configuration, with its defaults, and the sections that are not in `sections`.

`docs/reference/configuration.md` lists it for readers; `make docs` draws that from here.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from interventions.approval import ApprovalSettings
from monitors.contract.bounds import Count, Days
from monitors.masking import checked_patterns
from supervisor.config.sections.base import (
    AbsolutePath,
    ForProgram,
    PluginName,
    PluginNames,
    Section,
    Texts,
    Words,
)
from supervisor.config.sections.embedded import embeds
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.config.sections.hooks import HooksSection
from supervisor.config.sections.interventions import Interventions
from supervisor.config.sections.notify import Notify
from supervisor.config.sections.patterns import PatternsSection, ProgressSection
from supervisor.config.sections.resources import Resources
from supervisor.config.sections.review import ReviewerSection, RuleSection
from supervisor.config.sections.sandbox import SandboxKind, SandboxSection
from supervisor.config.sections.workspaces import CheckpointsSection, WorkspacesSection
from supervisor.core.decisions.stop_sequence import StopSequence
from supervisor.core.settings import DiscoverySettings, MergeSettings, TaskSettings, VerifySettings

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

INHERITED = "inherited"
"""The place of a credential that agents have themselves."""

_PLACES = r"environment|login(:/.+)?|file:/.+|command:.+|keyring:[^/]+(/.+)?|systemd:[A-Za-z0-9._-]+"
CREDENTIAL = rf"^({_PLACES})$"
"""Places of a credential."""

RECORD_KEY = r"^(file:/.+|command:.+|keyring:[^/]+(/.+)?|systemd:[A-Za-z0-9._-]+|)$"
"""Places of the key of records."""


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


def _mode(value: Any) -> Any:
    """Read `"0600"` in quotes, or from the environment, as the octal number it means."""
    return int(value, 8) if isinstance(value, str) and re.fullmatch(r"0o?[0-7]{3}", value) else value


def _private(value: int) -> int:
    if value not in (0o600, 0o660):
        raise ValueError(f"{value:#o} is not one of 0600 and 0660: the socket steers agents")
    return value


PermissionMode = Literal["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]
"""The CLI's own modes."""


class AgentCredential(Section):
    """One of several credentials, with its budgets of a day, which count in the place of those of `resources`."""

    source: Annotated[str, Field(pattern=CREDENTIAL)]
    """Its source, as in `agent.credential`."""
    max_cost_per_day_usd: Annotated[float, Field(gt=0)] | None = None
    """Cost of the agents that it pays for on one day of UTC, in US dollars."""
    max_tokens_per_day: Count | None = None
    """Tokens of the agents that it pays for on one day of UTC, cached ones counted."""


class Agent(Section):
    """How the CLI is started."""

    command: AbsolutePath | None = None
    """Path of the CLI. Empty: `claude` on PATH, then the one that the `[claude]` extra brought."""
    arguments: Annotated[Words, AfterValidator(_arguments)] = ()
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
    """Most processes and threads of one agent, if its control group can enforce it (`chaperon doctor` says), or if it
    is in bubblewrap and not root's (Linux 5.14 counts each sandbox by itself). Beyond it the agent's forks fail, and no
    others. The CLI has 9, with `make -j64` beside it 154, test runs with browsers and Java some hundreds; eight agents
    at this bound have all 32,768 of a small machine. `null` lifts it. Without both there is no bound: the limit that a
    user can set on processes (RLIMIT_NPROC) then counts those of all agents and of the person together, and root has
    none."""
    launcher: Words = ()
    """Command that the CLI is started through, one word a list item; the CLI's own command is appended, behind that of
    `agent.sandbox`."""
    credential: Annotated[str, Field(pattern=rf"^({INHERITED}|{_PLACES}|)$")] = ""
    """Source of the credential for the model: `environment`, as ANTHROPIC_API_KEY of the daemon; `file:PATH`, which
    only its owner may read; `command:PROGRAM ARGUMENTS`, which prints it; `keyring:SERVICE` or `keyring:SERVICE/USER`,
    from the keyring of the session; `systemd:NAME`, by LoadCredential= of the unit; `login`, the login of `claude`, or
    `login:FOLDER`, that of another of its configuration folders. A file, command or keyring is read anew when it
    changes, for running agents too; a login is refreshed in its place, beside the CLI's own programs. Agents then reach
    the model through the gateway, the one process that has the credential. Empty: as `environment`, and as `login` if
    that has none; without a sandbox, where an agent could read the login, the CLI uses that itself. `inherited`: agents
    have what is in the daemon's environment themselves, and no gateway, as for Bedrock and Vertex. Another source is
    taken live: by agents behind the gateway at once, by others at their next launch."""
    credentials: Annotated[tuple[AgentCredential, ...], Field(strict=False)] = ()
    """Several credentials in the place of `credential`: the first that is at none of its limits pays for all agents,
    those that run among them. One that met its usage limit is passed over until the limit's end, one whose budget of
    the day is used up until midnight UTC. If all are at a limit, agents wait."""
    at_daemon_end: Literal["go_on", "pause"] = "go_on"
    """Fate of agents at work once the daemon has ended in order and is back: they go on by themselves, or are held
    until a person lets them (`chaperon resume --all`). Meanwhile they wait at their next tool call either way."""
    sandbox: SandboxKind = "none"
    """Kind of the sandbox that holds an agent's processes beside the review: `bubblewrap`, namespaces and mounts of its
    own; `landlock`, rules of the kernel about files, signals and tracing; `auto`, the stronger of these that works; or
    `none`. One that is asked for and cannot be had starts no agent. The section `sandbox` says what agents reach in
    it."""

    @property
    def says_who_pays(self) -> bool:
        """Whether a sandbox or a credential is asked for, by either of which the gateway has a part."""
        return self.sandbox != "none" or bool(self.credential or self.credentials)

    @model_validator(mode="after")
    def _one_way_to_pay(self) -> "Agent":
        if self.credential and self.credentials:
            raise ValueError("agent.credential and agent.credentials are both set: put the first into the list")
        if len({each.source for each in self.credentials}) < len(self.credentials):
            raise ValueError("agent.credentials names the same source twice")
        return self


class Socket(Section):
    """The socket that commands come in by."""

    mode: Annotated[int, BeforeValidator(_mode), AfterValidator(_private)] = 0o600
    """File mode, octal: 0600, or 0660 to let the group's members steer agents too."""


@embeds(StopSequence)
class StopSection(Section):
    """The steps by which an agent is ended. Processes that are left after the last step are killed."""


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
    touched by it."""
    key: Annotated[str, Field(pattern=RECORD_KEY)] = ""
    """Source of the key of marks and seals: `file:PATH`, which others may not read; `command:PROGRAM ARGUMENTS`, which
    prints it; `keyring:SERVICE/USER`; or `systemd:NAME`. Empty: one that the first start draws, in `protection.key` in
    the state directory."""
    encrypt: bool = False
    """Whether journal, snapshot, archive of ended agents and checkpoints are encrypted on the disk, and what CLIs print
    also with `store: full`. Agents' names, times and kinds of records stay readable. It needs `key`: a key beside what
    it seals protects nothing. What was written before stays as it is."""
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


@embeds(VerifySettings)
class VerifySection(Section):
    """The check of agents' work: a command that chaperon runs itself, and believes instead of the agent.

    It runs in the agent's containment, without the keys of the model's API.
    """

    projects: dict[AbsolutePath, ForProgram] = Field(default={})
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
