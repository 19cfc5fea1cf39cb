"""The sockets of a daemon, served: for people, for hooks, and for metrics."""

import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread

from monitors.contract.actions import ReviewContext
from monitors.contract.words import Severity
from monitors.detectors import pattern_names
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.protocol.rollbacks import RollbackRequest
from supervisor.runtime.api.lean import lean_fastapi
from supervisor.runtime.assembly.policy import Policy
from supervisor.runtime.assembly.settings import (
    detector_settings,
    discovery_settings,
    gateway_settings,
    merge_rules,
    task_settings,
)
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.descriptors import allowed
from supervisor.runtime.gateway.account import has_gateway
from supervisor.runtime.gateway.client import GatewayClient
from supervisor.runtime.log import log
from supervisor.runtime.services.budgets import Budgets
from supervisor.runtime.services.credentials import Credentials
from supervisor.runtime.services.people.recovery import Recovering
from supervisor.runtime.services.reloading import Reloading
from supervisor.runtime.socket.admission import House, most_connections
from supervisor.runtime.tasks.desk import TaskDesk
from supervisor.runtime.tasks.dispatcher import Dispatcher
from supervisor.runtime.tasks.redirecting import Redirecting

if TYPE_CHECKING:
    from fastapi import FastAPI

    from supervisor.runtime.api.serving.turnstile import Turnstile
    from supervisor.runtime.attached.door import HookRoute
    from supervisor.runtime.reading.reader import ReadingService
from supervisor.runtime.parts import Setup
from supervisor.runtime.state_files import StateFiles


async def serve(
    daemon: Daemon,
    listening: socket.socket,
    metrics: socket.socket | None,
    hooks: socket.socket,
    house: House,
    setup: Setup,
    in_force: Reloading,
    dispatcher: Dispatcher,
    kept: StateFiles,
    credentials: Credentials,
) -> None:
    """Answer on the socket, and on the port for metrics if one is configured.

    Its parts are made only now, and beside the loop: they are half of the start, and agents do not wait for them.
    """
    reader = await anyio.to_thread.run_sync(_make_reader, daemon, setup, in_force.policy)
    in_force.renewed = partial(_renew_reader, reader)
    daemon.incidents.on_growth = reader.incident
    from supervisor.runtime.api.serving.turnstile import Turnstile

    turnstile = Turnstile(setup.clock.mono)
    api = await anyio.to_thread.run_sync(
        _make_api, daemon, reader, turnstile, setup, in_force, dispatcher, kept, credentials
    )
    from supervisor.runtime.api.routes.service.metrics import serve_metrics
    from supervisor.runtime.api.serving.server import serve
    from supervisor.runtime.attached.door import HookHouse, HookRoute
    from supervisor.runtime.attached.hook_server import serve_hooks

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, name="reader")
        tasks.start_soon(reader.start_for_indexes, name="indexes of the journal")
        if metrics is not None:
            tasks.start_soon(serve_metrics, daemon, reader, turnstile, metrics, name="metrics")
        tells = partial(_tell_of_socket, daemon)
        door = HookRoute(daemon.attaching, daemon.launched_cli, daemon.whose)
        tasks.start_soon(_keep_relay, door, setup.places, daemon.fault, name="relay of hooks")
        most = most_connections(allowed())
        tasks.start_soon(
            serve_hooks, door.answer, door.ending, hooks, HookHouse(), daemon.refused, most, tells, name="hooks"
        )
        daemon.answering.set()
        await serve(api, listening, house, daemon.whose, daemon.refused, most, tells)


def _tell_of_socket(daemon: Daemon, path: Path, lost: str) -> None:
    """Note that a socket is listened on anew, or why it is out of reach."""
    if lost:
        what = f"The socket {path} is out of reach: {lost}. Agents are watched over as before."
        way_out = (
            "Move away what is there, or have its folder made: it is listened on again within some seconds. If no person "
            "put anything there, a program of this user did, and answers in the daemon's place."
        )
        daemon.fault("", "socket_lost", what, Severity.HIGH, way_out)
        return
    daemon.fault(
        "",
        "socket_regained",
        f"The socket {path} was gone, so that nobody could reach the daemon; it listens there anew.",
        Severity.MEDIUM,
        "If it was no end of a login session and nothing that cleans /tmp, a program of this user removed it.",
    )


async def _keep_relay(door: "HookRoute", places: StatePaths, fault: Callable[..., object]) -> None:
    """Keep the relay there, from the start on if something is attached, and else whenever a hook comes by it."""
    from supervisor.runtime.attached.relay_settings import read

    while True:
        if await anyio.to_thread.run_sync(read, places.attached) is None:
            await door.relay_seen.wait()
        door.relay_seen = anyio.Event()
        from supervisor.runtime.attached.relay_client import keep

        await keep(places.attached, places.hooks_socket, partial(fault, "", "hooks_unheard"))


def take_policy(
    daemon: Daemon,
    dispatcher: Dispatcher,
    gateway: GatewayClient,
    credentials: Credentials,
    setup: Setup,
    policy: Policy,
) -> None:
    """Let a new policy count: for agents, stored tasks, checks, merges, the account that pays, and hosts."""
    credentials.renew(policy.config)
    if has_gateway(policy.config.agent, setup.environ) or gateway.needed.is_set():
        gateway.renew(partial(gateway_settings, credentials.config, setup.environ, last=setup.last))
    dispatcher.settings = task_settings(policy.config)
    config = policy.config
    daemon.take_policy(
        policy.make_session,
        policy.renew,
        config.resources.limits(),
        credentials.config.agent,
        discovery_settings(config),
    )
    rules = merge_rules(config, setup.places, setup.environ)
    daemon.merging.work.rules = replace(rules, trusted=daemon.merging.work.rules.trusted)


def take_credential(daemon: Daemon, gateway: GatewayClient, setup: Setup, config: Config) -> None:
    """Have the credential of a configuration pay, for agents that run too."""
    gateway.renew(partial(gateway_settings, config, setup.environ, last=setup.last))
    daemon.take_account(config.agent)


def _renew_reader(reader: "ReadingService", config: Config, nobody: ReviewContext) -> None:
    from supervisor.runtime.reading.reviews import pickled

    reader.renew(pickled(config, nobody))


def _make_reader(daemon: Daemon, setup: Setup, policy: Policy) -> "ReadingService":
    """Make the reading service. Its process is started at the first request, or if it has much to index."""
    from supervisor.runtime.reading.gate_reviews import reviewed
    from supervisor.runtime.reading.jobs import ReadPaths as ToRead
    from supervisor.runtime.reading.reader import ReadingService
    from supervisor.runtime.reading.reviews import pickled

    places = ToRead(
        setup.places.journal,
        setup.places.incident_log,
        setup.places.checkpoints,
        pickled(policy.config, policy.nobody),
        log.level,
        most_connections(allowed()),
        daemon.protector.seals.keys,
    )
    reader = ReadingService(places, daemon.journal)
    daemon.deferred_reviews.ask(partial(reviewed, reader))
    return reader


@lean_fastapi()
def _make_api(
    daemon: Daemon,
    reader: "ReadingService",
    turnstile: "Turnstile",
    setup: Setup,
    in_force: Reloading,
    dispatcher: Dispatcher,
    kept: StateFiles,
    credentials: Credentials,
) -> "FastAPI":
    """Import and make what answers on the socket. Takes half a second."""
    from supervisor.runtime.api.app import make_api
    from supervisor.runtime.api.routes.agents.autopilot import autopilot_routes
    from supervisor.runtime.api.routes.agents.orders import forgetting_routes
    from supervisor.runtime.api.routes.agents.projects import project_routes
    from supervisor.runtime.api.routes.agents.recovery import recovery_routes
    from supervisor.runtime.api.routes.service.budgets import budget_routes
    from supervisor.runtime.api.routes.service.metrics import metrics_routes
    from supervisor.runtime.api.routes.service.outcomes import outcome_routes
    from supervisor.runtime.api.routes.service.trust import program_routes
    from supervisor.runtime.api.routes.work.tasks import task_routes
    from supervisor.runtime.services.people import rollbacks
    from supervisor.runtime.services.people.autopilot import Autopilot
    from supervisor.runtime.services.people.forgetting import Forgetting

    api = make_api(daemon, reader, turnstile)
    metrics_routes(api, daemon, reader)
    program_routes(api, daemon, in_force)
    forgetting_routes(api, Forgetting(daemon, kept, setup.places, setup.disk))
    budget_routes(api, daemon, Budgets(daemon, credentials.limits), credentials)
    outcome_routes(api, daemon, lambda: pattern_names(detector_settings(in_force.policy.config)))

    async def restore(agent: str, checkpoint: str, by: str) -> object:
        return await rollbacks.roll_back(daemon, agent, RollbackRequest(checkpoint=checkpoint, files_only=True), by)

    going_on = daemon.happened, daemon.journal, setup.clock, daemon.submit, daemon.give_up_workspace
    recovery_routes(api, Recovering(daemon.board, *going_on, setup.places.state, restore, daemon.protector))
    desk = TaskDesk(
        daemon.board.tasks, daemon.happened, daemon.journal.written, daemon.stamp, daemon.refuse_additions_for_now
    )
    redirecting = Redirecting(daemon.board, daemon.happened, daemon.stamp, daemon.request, daemon.submit)
    autopilot = Autopilot(daemon, setup.places.state, lambda: in_force.policy.config.checkpoints.before_autopilot)
    autopilot_routes(api, daemon, autopilot)
    task_routes(api, desk, dispatcher, daemon.board, redirecting)
    project_routes(api, daemon)
    return api
