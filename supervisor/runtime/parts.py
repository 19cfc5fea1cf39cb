"""The parts of a daemon, made from what it is started with."""

import os
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from secrets import token_hex

import anyio
import anyio.abc
import anyio.to_thread

from host.durable import REAL_DISK, Disk
from monitors.contract.words import Severity
from monitors.review.allowances import HOST_TOOL
from supervisor.config.environment import without_keys
from supervisor.config.load import ConfigSource
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.core.board import Board
from supervisor.protocol import events
from supervisor.protocol.export import Exporter
from supervisor.runtime.assembly.settings import (
    channels,
    discovery_settings,
    gateway_settings,
    merge_rules,
    sandboxes,
    task_settings,
    worktree_rules,
)
from supervisor.runtime.assembly.trusted_programs import TrustedProgram, TrustedPrograms
from supervisor.runtime.attached.settings.attachments import Attachments
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.checkpointing.worktrees import Worktrees
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.hooks import HookRunner
from supervisor.runtime.daemon.repository_hooks import RepositoryHooks
from supervisor.runtime.daemon.submission import Defaults
from supervisor.runtime.exporters.delivery import Exporting, Positions
from supervisor.runtime.gateway.account import has_gateway
from supervisor.runtime.gateway.client import GatewayClient
from supervisor.runtime.gateway.messages import FailedLogin, GrantedHost, Reached, Refused
from supervisor.runtime.journal.signing import Signing
from supervisor.runtime.journal.writing.segment_writer import SEGMENT_BYTES
from supervisor.runtime.processes.bounds.cgroups import Containment, Uncontained
from supervisor.runtime.processes.launcher import ProcessLauncher
from supervisor.runtime.protection.protector import Protector
from supervisor.runtime.services.budgets import account_facts
from supervisor.runtime.state_files import OpenedState
from supervisor.runtime.tasks.completion import Completion
from supervisor.runtime.tasks.dispatcher import Dispatcher, TaskTools
from supervisor.runtime.tasks.finished_work import WorkCompletion, end_parked
from supervisor.runtime.tasks.resolving import Resolving


def complete_work(daemon: Daemon) -> WorkCompletion:
    """Return the completion of a daemon's stored tasks: by the configured checks and merges."""
    daemon.merging.work.before_merge = daemon.hooks.before_merge
    daemon.merging.work.merged = partial(end_parked, daemon.board, daemon.happened, daemon.stamp)
    daemon.merging.settled = Resolving(daemon.board, daemon.merging, daemon.submit, daemon.close_workspace).settled
    parts = daemon.board, daemon.happened, daemon.stamp, daemon.fault, daemon.verifier, daemon.merging
    return WorkCompletion(*parts)


@dataclass(frozen=True, slots=True)
class Setup:
    """The start parameters of a daemon."""

    config: Config
    places: StatePaths
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """The daemon's environment, from which agents get theirs."""
    listening: socket.socket | None = None
    """A socket that the service manager opened; None: one is made."""
    clock: Clock = field(default_factory=Clock)
    disk: Disk = REAL_DISK
    """The disk of the journal and the incident log; another, in tests."""
    segment_bytes: int = SEGMENT_BYTES
    """Size at which the journal begins a new file; smaller in tests."""
    source: ConfigSource | None = None
    """The source that the configuration is read from again if it changes; None: it stays as it is."""
    claims: bool = True
    """Whether agents claim stored tasks."""
    completion: Callable[[Daemon], Completion] = complete_work
    """Makes the completion of the work on stored tasks."""
    last: bool = False
    """Whether no other daemon will ever serve this state directory: agents end with this one, however it ends."""


def start_exporting(
    daemon: Daemon, exporter: Exporter, positions: Positions, known_to: int, tasks: anyio.abc.TaskGroup
) -> None:
    """Have an exporter send the audit record, from where it stopped."""

    def count(name: str, result: str, number: int) -> None:
        daemon.metrics.add("chaperon_exported_total", name, result, value=number)

    exporting = Exporting(exporter, daemon.journal, positions, daemon.fault, count, known_to)
    daemon.exporting.append(exporting)
    tasks.start_soon(exporting.run, name=f"exporter {exporter.name}")


def with_trusted(setup: Setup, programs: TrustedPrograms) -> tuple[Setup, tuple[TrustedProgram, ...]]:
    """Return the setup with the programs that a person trusts, and those that changed since. Blocks."""
    config, distrusted = programs.settle(setup.config)
    return replace(setup, config=programs.running(config)), distrusted


def signing_of(setup: Setup) -> Signing:
    """Return the source of the key that signs the journal."""
    credentials = setup.environ.get("CREDENTIALS_DIRECTORY", "")
    return Signing(setup.places.state, setup.config.audit.signing_key, credentials)


def make_daemon(
    setup: Setup,
    board: Board,
    opened: OpenedState,
    launcher: ProcessLauncher,
    manager: CheckpointManager,
    kept_out: Mapping[str, str],
    tasks: anyio.abc.TaskGroup,
    programs: TrustedPrograms,
    protector: Protector,
) -> Daemon:
    """Make the daemon of its parts; nothing runs yet."""
    config = setup.config
    where, kept = config.workspaces, config.checkpoints
    every = kept.periodic if kept.enabled else 0
    usual = config.agent.permission_mode, config.resources.limits()
    defaults = Defaults(*usual, where.mode, where.base, every, discovery_settings(config), kept_out)
    trusted = board.trusts.trusted
    copies = setup.places.copies / "hooks"
    repositories = RepositoryHooks(copies, trusted) if config.hooks.repositories else None
    return Daemon(
        board,
        opened.journal,
        opened.feed,
        launcher,
        manager,
        Worktrees(replace(worktree_rules(config, setup.places, setup.environ), trusted=programs.program), manager.work),
        setup.clock,
        tasks,
        defaults,
        opened.metrics,
        channels(config),
        HookRunner(
            config.hooks.programs(),
            config.hooks.timeout,
            without_keys(setup.environ),
            board.summaries,
            repositories,
            programs.program,
            protector,
        ),
        replace(merge_rules(config, setup.places, setup.environ), trusted=programs.program),
        protector,
    )


def make_dispatcher(daemon: Daemon, setup: Setup) -> Dispatcher:
    """Make what lets agents claim stored tasks, and have it see every event."""
    folders = (daemon.worktrees.rules.folder, setup.places.chaperons)
    tools = TaskTools(
        daemon.board,
        daemon.happened,
        daemon.stamp,
        daemon.submit,
        daemon.request,
        daemon.close_workspace,
        daemon.fault,
        lambda: daemon.ending,
        daemon.checkpoint_manager.changed_since_start,
        folders,
        lambda: account_facts(daemon),
    )
    dispatcher = Dispatcher(tools, task_settings(setup.config), setup.completion(daemon), setup.claims)
    daemon.watchers.append(dispatcher.saw)
    daemon.project_work.stand_stills.append(dispatcher.stand_still)
    return dispatcher


def host_refused(daemon: Daemon, refused: Refused) -> None:
    """Report a request that the gateway refused."""
    what = f"Agent {refused.agent} asked the gateway for {refused.what!r} and was refused: {refused.why}"
    daemon.fault(refused.agent, "request_refused", what, Severity.LOW)
    session = daemon.board.find(refused.agent)
    if session is None or not refused.host:
        return
    opened = {one.text for one in session.allowances(daemon.mono())}  # the gateway may not have been told of it yet
    id_ = session.hosts.id_for(refused.host, daemon.wall(), f"host-{token_hex(4)}")
    if id_ and refused.host not in opened:
        stamp = daemon.stamp(refused.agent)
        daemon.happened(events.HostRefused(**stamp, id=id_, host=refused.host, why=refused.why))


def login_failed(daemon: Daemon, pass_over: Callable[[str], bool], failed: FailedLogin) -> None:
    """Report a credential that did not serve, and have another one chosen if there is one."""
    what = f"The credential {failed.account} of agents did not serve: {failed.why}"
    instead = " It is passed over for five minutes." if pass_over(failed.account) else ""
    daemon.fault("", "login_failed", what + instead, Severity.HIGH, failed.way_out)


def host_reached(daemon: Daemon, reached: Reached) -> None:
    """Journal that an agent was connected to a host."""
    host, times, allowance = reached.host, reached.times, reached.allowance
    daemon.happened(events.HostReached(**daemon.stamp(reached.agent), host=host, times=times, allowance=allowance))


def tell_of_allowances(daemon: Daemon, gateway: GatewayClient) -> None:
    """Have the gateway told at once of what a person allows or takes back: it may be a host."""

    def saw(event: events.AnyEvent) -> None:
        if isinstance(event, events.AllowanceGiven | events.AllowanceRevoked):
            gateway.hurry()

    daemon.watchers.append(saw)


def account_taken(daemon: Daemon, agents: Collection[str]) -> None:
    """Journal which of these agents, whose CLIs run, are paid by the account in force and were by another.

    One whose next CLI is not launched yet has its account from that launch.
    """
    paid = {one.summary.agent: one.summary for one in daemon.board.live() if one.launched and not one.processes_ended}
    paid |= {one.agent: one for one in daemon.board.unmade.values() if one.limited_until is None}
    for known in (paid[agent] for agent in agents if agent in paid):
        if known.account not in ("", daemon.account):
            stamp = daemon.stamp(known.agent)
            daemon.happened(events.AccountChanged(**stamp, account=daemon.account, before=known.account))


def make_gateway(setup: Setup, board: Board) -> GatewayClient:
    """Return the gateway of this daemon; nothing is done by it until agents are to reach the model through it."""
    settings = partial(gateway_settings, setup.config, setup.environ, last=setup.last)
    live = lambda: [session.summary.agent for session in board.live()]  # noqa: E731
    granted = partial(granted_hosts, board, setup.clock)
    gateway = GatewayClient(settings, setup.places.gateway, setup.environ, live, granted, setup.places.agent_sockets)
    if has_gateway(setup.config.agent, setup.environ):
        gateway.needed.set()
    return gateway


def granted_hosts(board: Board, clock: Clock, agent: str) -> list[GrantedHost]:
    """Return the hosts that a person opened for an agent, for as long as they hold."""
    now = clock.mono()
    session = board.find(agent)
    return [
        GrantedHost(one.id, one.text, one.uses, None if one.expires is None else one.expires - now)
        for one in (session.allowances(now) if session is not None else ())
        if one.tool == HOST_TOOL
    ]


def make_launcher(
    setup: Setup, board: Board, descriptors: int, gateway: GatewayClient, protector: Protector
) -> ProcessLauncher:
    """Say how agents are held, and take away the groups of those that ended. Blocks."""
    owner = sha256(os.fsencode(setup.places.state)).hexdigest()[:8]
    never = Uncontained("agent.cgroups is `never`, so agents are held by walking their processes.")
    containment = Containment.find(owner) if setup.config.agent.cgroups == "auto" else never
    launcher = ProcessLauncher(
        setup.config.agent,
        setup.environ,
        setup.places.agents,
        containment,
        trusted=board.trusts.trusted,
        descriptors=descriptors,
        ends_with_daemon=setup.last,
        sandboxes=sandboxes(setup.config, setup.places, setup.environ),
        gateway=gateway,
        protector=protector,
        own_folders=setup.places.own_folders,
        beside=Attachments(setup.places.attached).beside,
    )
    launcher.sweep([one.agent for one in board.at_work()])
    return launcher
