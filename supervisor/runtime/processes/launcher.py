"""Starting an agent: which program, with which arguments and environment, held how."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread

from monitors.contract.errors import ChaperonError
from monitors.contract.tasks import Limits
from supervisor.config.environment import agent_environment, with_variables
from supervisor.config.model import Agent
from supervisor.config.settings_guard import ConfiguredValue, Guard, Own, guard
from supervisor.protocol.commands import Launch
from supervisor.protocol.events import EventStamp, SettingsFound
from supervisor.runtime.gateway.account import account_of, has_gateway
from supervisor.runtime.gateway.client import GatewayClient
from supervisor.runtime.gateway.credential import shielded, source_of
from supervisor.runtime.gateway.messages import CredentialSource
from supervisor.runtime.log import log
from supervisor.runtime.processes import earlier_life, settings_files, shim_client
from supervisor.runtime.processes.bounds.cgroups import (
    Ceiling,
    Containment,
    Uncontained,
    group_in,
    remove,
)
from supervisor.runtime.processes.find_cli import find_cli
from supervisor.runtime.processes.handed_sessions import hand_over
from supervisor.runtime.protection.protector import UNPROTECTED, Protector
from supervisor.runtime.sandbox.sandboxes import LaunchSite, SandboxedLaunch, Sandboxes

WIRE = (
    "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
    "--permission-prompt-tool", "stdio",
)  # fmt: skip
"""Arguments that make the CLI use the wire, with both gates."""


NO_OWN_WORKTREES = "--disallowedTools=EnterWorktree"
"""Keeps an agent in its workspace. The CLI makes such a worktree in the person's checkout, below `.claude/worktrees`.

No checkpoint and no merge has what is done there (seen with CLI 2.1.329)."""


MODEL_KEYS = ("ANTHROPIC_", "CLAUDE_")
"""Beginnings of the names of variables that only a CLI gets: a check of an agent's work does not call the model."""

Trusted = Callable[[str, str], bool]
"""Whether a person said that the settings of a repository, by its top and their digest, may count."""


def nobody_asked(_repository: str, digest: str) -> bool:
    """Return the answer if no decisions of people are kept."""
    return not digest


@dataclass(frozen=True, slots=True)
class Brings:
    """A repository's settings for a CLI that is about to be started there, and how it is started for that."""

    repository: settings_files.LocalSettings
    trusted: bool
    guard: Guard

    def event(self, stamp: EventStamp) -> SettingsFound | None:
        """Return the event for the journal; None if there is nothing to ask about."""
        found = self.repository.found
        if not found.digest:
            return None
        return SettingsFound(
            **stamp,
            repository=self.repository.root,
            digest=found.digest,
            trusted=self.trusted,
            brings=found.things,
            off=self.guard.off,
            left_out=self.guard.left_out,
        )


class ProcessLauncher:
    """Starts shims for agents.

    Args:
        settings: How the CLI is started.
        environ: The daemon's environment, from which the agent's is made.
        agents: The directory that has one directory an agent.
        containment: Makes control groups, where the machine has them.
        trusted: Says whether what a repository's settings bring may count.
        descriptors: The soft limit on open files that agents get: what the daemon was started with; 0 leaves its own.
        ends_with_daemon: Whether agents end once this daemon has gone, however it went.
        sandboxes: Makes the sandboxes of agents; None holds them by none.
        gateway: Holds the credential of agents, if their settings want that; None leaves it with them.
        protector: Seals what CLIs print.
        own_folders: The directory that has one directory an agent for what its CLI reaches, if it is another one.
        beside: What counts of a repository's settings file.
    """

    def __init__(
        self,
        settings: Agent,
        environ: Mapping[str, str],
        agents: Path,
        containment: Containment | Uncontained,
        trusted: Trusted = nobody_asked,
        descriptors: int = 0,
        ends_with_daemon: bool = False,
        sandboxes: Sandboxes | None = None,
        gateway: GatewayClient | None = None,
        protector: Protector = UNPROTECTED,
        own_folders: Path | None = None,
        beside: settings_files.Beside = settings_files.all_of,
    ) -> None:
        self._beside = beside
        self._protector = protector
        self._environ = environ
        self._agents = agents
        self.own_folders = own_folders or agents
        """The directory that has one directory an agent for what its CLI reaches."""
        self._aside = agents.parent / "set-aside"
        self._containment = containment
        self._trusted = trusted
        self._descriptors = descriptors
        self._ends_with_daemon = ends_with_daemon
        self._sandboxes = sandboxes
        self._own_gateway = gateway
        self.renew(settings)

    def renew(self, settings: Agent) -> None:
        """Have another credential count from the next launch on; the rest of these settings does not change."""
        self._settings = settings
        self.account = account_of(settings, self._environ)
        """The account that pays for the agents that it launches."""
        self._gateway = self._own_gateway if has_gateway(settings, self._environ) else None

    def directory(self, agent: str, number: int = 1) -> Path:
        """Return the directory of the shim of an agent's launch: a directory serves one launch."""
        return self._agents / agent if number == 1 else self._agents / agent / f"launch-{number}"

    def set_aside(self, agent: str) -> Path | None:
        """Make room for an agent whose name the journal does not have; blocks and raises like `earlier_life`."""
        aside = earlier_life.set_aside(self.directory(agent), self._aside)
        if self.own_folders != self._agents:
            earlier_life.set_aside(self.own_folders / agent, self.own_folders.with_name(self._aside.name))
        return aside

    def brings(self, agent: str, workspace: str) -> Brings:
        """Look what the settings of the repository bring, and say how a CLI is started for that. Blocks."""
        repository = settings_files.look(Path(workspace), self._beside)
        trusted = self._trusted(repository.root, repository.found.digest)
        environment = self._environment(agent)
        own = Own(environment, settings_files.own_settings(environment))
        about = self._settings
        wanted = ConfiguredValue(about.settings_hooks, about.settings_servers, about.settings_environment)
        return Brings(repository, trusted, guard(repository.found, own, wanted, trusted=trusted))

    async def launch(
        self, agent: str, command: Launch, brings: Brings | None = None, had: Sequence[str] = ()
    ) -> shim_client.ShimClient:
        """Start shim and CLI; for what the settings bring as it was looked at before, or as it is.

        Args:
            agent: Its name.
            command: How it is started.
            brings: What the settings of the repository bring; None: it is looked at now.
            had: Agents that were in the session in which it goes on, the last one first.

        Raises:
            LaunchError: They could not be started; nothing of them runs.
        """
        try:
            if self._gateway is not None:
                await self._gateway.open(agent, command.task.limits.max_token_usage)
            spec = await anyio.to_thread.run_sync(self._spec, agent, command, brings, had)
        except shim_client.LaunchError:
            raise
        except ChaperonError as error:
            raise shim_client.LaunchError(error.what, way_out=error.way_out) from error
        except OSError as error:
            raise shim_client.LaunchError(f"Agent {agent!r} was not started: {error}.") from error
        try:
            return await shim_client.ShimClient.launch(spec)
        except BaseException as error:
            if spec.cgroup is not None:
                await anyio.to_thread.run_sync(remove, spec.cgroup)
            if isinstance(error, OSError):
                raise shim_client.LaunchError(f"Agent {agent!r} was not started: {error}.") from error
            raise

    def seal_of(self, directory: Path) -> bytes:
        """Return the key of what a launch printed; empty if that is in the clear. Blocks."""
        return self._protector.seal_of(directory)

    def limit(self, containment: str, ceiling: Ceiling) -> tuple[str, ...]:
        """Set a ceiling on an agent's control group.

        Returns the names of files that could not be set, all if there is no group.
        """
        group = group_in(containment)
        if group is None or not isinstance(self._containment, Containment):
            return tuple(ceiling.settings())
        return self._containment.limit(Path(group), ceiling)

    def hold(self, name: str, limits: Limits, site: LaunchSite) -> "Holding":
        """Make the place of a program that is run for an agent to its own end, held as agents are. Blocks.

        Args:
            name: Names its control group.
            limits: Limits of the task.
            site: The program and the folders that it sees. Its environment is added to that of agents.

        Raises:
            ChaperonError: The control group, or the sandbox, cannot be had.
            OSError: A folder could not be made.
        """
        clean = agent_environment(self._environ, self._settings.environment, None)
        given = {key: value for key, value in clean.items() if not key.startswith(MODEL_KEYS)}
        site = replace(site, environment={**given, **site.environment})
        made = SandboxedLaunch((), site.cli, site.environment)
        if self._sandboxes is not None:
            made = self._sandboxes.wrap(site)
        argv = *self._settings.launcher, *made.words, made.program
        return Holding(argv, made.environment, self._group(name, limits))

    def clear(self, containment: str) -> None:
        """Give back the control group of an agent that has ended, where it had one."""
        group = group_in(containment)
        if group is not None:
            remove(Path(group))

    @property
    def groups(self) -> str:
        """Return the part of the path by which agents' control groups are recognised; empty without such groups."""
        if isinstance(self._containment, Uncontained):
            return ""
        return f"/{self._containment.agents.parent.name}/{self._containment.agents.name}/"

    def sweep(self, living: Collection[str]) -> None:
        """Remove the control groups of agents that are not among the living. Blocks."""
        if isinstance(self._containment, Containment):
            self._containment.remove_stale(living)

    def leave(self) -> None:
        """Remove the group above the agents' own, if none is left in it. Blocks."""
        if isinstance(self._containment, Containment):
            self._containment.leave()

    def _spec(
        self, agent: str, command: Launch, brings: Brings | None = None, had: Sequence[str] = ()
    ) -> shim_client.ShimSpec:
        """Say what to start. Blocks: it looks for the CLI and makes the control group."""
        cli = find_cli(self._settings.command, self._environ)
        directory = self.directory(agent, command.number)
        gate = (brings or self.brings(agent, command.workspace)).guard.arguments
        held = self._sandboxed(agent, cli.path, Path(command.workspace))
        self._find_session(agent, command, had)
        return shim_client.ShimSpec(
            agent=agent,
            directory=directory,
            argv=[
                held.program,
                *arguments(command),
                *self._settings.arguments,
                *(with_variables(gate, held.settings) if held.settings else gate),
            ],
            cwd=Path(command.workspace),
            env=held.environment,
            launcher=[*self._settings.launcher, *held.words],
            sandbox=held.name,
            seal=self._protector.new_seal(),
            cgroup=self._group(agent, command.task.limits),
            descriptors=self._descriptors,
            ends_with_daemon=self._ends_with_daemon,
        )

    def _sandboxed(self, agent: str, cli: str, workspace: Path) -> SandboxedLaunch:
        """Say how the CLI is started within the agent's sandbox, if it has one. Blocks."""
        environment = self._environment(agent)
        if self._sandboxes is None:
            return SandboxedLaunch((), cli, environment)
        checkout = settings_files.main_checkout(workspace)
        gateway = self._gateway.folder_of(agent) if self._gateway is not None else None
        own = self._own_config_dir(agent)
        return self._sandboxes.wrap(LaunchSite(cli, workspace, checkout, own, environment, gateway))

    def _environment(self, agent: str) -> dict[str, str]:
        own = str(self._own_config_dir(agent)) if self._has_own_config_dir else None
        made = agent_environment(self._environ, self._settings.environment, own)
        if self._gateway is None:
            return made
        try:
            source = source_of(self._settings.credential, made, self._environ.get("CREDENTIALS_DIRECTORY", ""))
        except ChaperonError:  # whoever opens the agent's socket is told
            source = CredentialSource("none")
        return shielded(made, str(self._gateway.socket_of(agent)), source)

    def _find_session(self, agent: str, command: Launch, had: Sequence[str]) -> None:
        """Have the CLI find the session in which it goes on, if agents have configuration folders of their own."""
        session = command.resume_session or command.task.resume_session
        if command.number > 1 or not session or not self._has_own_config_dir:
            return  # it is in the folder that the CLI has
        for other in had:
            try:
                if other != agent and hand_over(session, self._own_config_dir(other), self._own_config_dir(agent)):
                    return
            except OSError as error:
                log.warning("the session %s of %s could not be handed to %s: %s", session, other, agent, error)

    @property
    def _has_own_config_dir(self) -> bool:
        needs_own = self._sandboxes is not None and self._sandboxes.own_config_dir
        return self._settings.own_config_dir or needs_own

    def _own_config_dir(self, agent: str) -> Path:
        return self.own_folders / agent / "claude"

    def _group(self, agent: str, limits: Limits) -> Path | None:
        if isinstance(self._containment, Uncontained):
            return None
        most = limits.max_memory_mb
        # A daemon that was killed between making the group and starting the shim, or before it launched again, left the
        # group behind; nobody else makes groups here.
        remove(self._containment.agents / agent)
        ceiling = Ceiling(memory_high_bytes=most * 2**20 if most else None, pids_max=self._settings.max_processes)
        return self._containment.make(agent, ceiling)


@dataclass(frozen=True, slots=True)
class Holding:
    """The place of a program that is run for an agent."""

    argv: tuple[str, ...]
    """The program, through all that it is started by; its arguments are appended."""
    environment: Mapping[str, str]
    cgroup: Path | None
    """The control group that it is born in; None if this machine has none."""

    def release(self) -> None:
        """End what is left in the control group, and remove it. Blocks."""
        if self.cgroup is not None:
            remove(self.cgroup)


def arguments(command: Launch) -> list[str]:
    """The CLI's arguments for this task."""
    task = command.task
    model = [f"--model={task.model}"] if task.model else []
    return [*WIRE, NO_OWN_WORKTREES, "--permission-mode", task.permission_mode, *_session(command), *model]


def _session(command: Launch) -> list[str]:
    """Return the arguments for the session.

    After a rollback it is a fork of the one before, after a crash the same, or a new one.
    """
    own = f"--session-id={command.session_id}"
    if command.resume_at:
        return [f"--resume={command.resume_session}", f"--resume-session-at={command.resume_at}", "--fork-session", own]
    if command.resume_session:
        return [f"--resume={command.resume_session}"]
    first = command.number == 1 and command.task.resume_session
    return [f"--resume={command.task.resume_session}"] if first else [own]
