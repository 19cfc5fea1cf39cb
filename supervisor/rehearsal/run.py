"""A rehearsal: the real CLI in a scratch repository, a scripted model, the usual daemon, and the comparison."""

import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
from pydantic import ValidationError

from interventions.decisions import Incident, Intervention
from monitors.contract.actions import Review
from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.issues import Issue
from supervisor.config import paths
from supervisor.config.model import INHERITED, Config
from supervisor.config.problems import explain
from supervisor.protocol import events
from supervisor.protocol.records import decode
from supervisor.protocol.words import AgentState
from supervisor.rehearsal import scratch
from supervisor.rehearsal.check import CheckFinding, RehearsalOutcome, check
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.person import Person
from supervisor.rehearsal.scenario import Scenario, ScenarioPaths, policy_of
from supervisor.runtime.daemon.submission import Submission
from supervisor.runtime.service import Setup, run_daemon

AGENT = "rehearsal"

LONGEST_SECONDS = 300.0
"""Longest time of a rehearsal. A four-step run takes two seconds, and the longest scenarios wait for retries of the
CLI."""


class RehearsalError(ChaperonError):
    """The rehearsal did not come to its end."""


@dataclass(slots=True)
class Seen:
    """The findings in the journal of a rehearsal."""

    reviews: dict[str, Review] = field(default_factory=dict)
    incidents: list[Incident] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    interventions: list[Intervention] = field(default_factory=list)
    state: AgentState = AgentState.STARTING
    exit_code: int | None = None
    notes: list[CheckFinding] = field(default_factory=list)
    """Acts of the person that failed."""

    def take(self, event: object) -> None:
        """Take in one event."""
        match event:
            case events.ReviewMade():
                self.reviews.setdefault(event.action.tool_use_id, event.review)
            case events.IncidentOpened() | events.FaultSeen():
                self.incidents.append(event.incident)
            case events.IssueSeen():
                self.issues.append(event.issue)
            case events.InterventionChosen():
                self.interventions.append(event.intervention)
            case events.StateChanged():
                self.state = event.after
            case events.AgentExited():
                self.exit_code = event.code


async def rehearse(
    scenario: Scenario,
    base: Path,
    watch: Callable[[bytes], object] = lambda _line: None,
    *,
    cli: str | None = None,
    directory: str = "",
) -> tuple[RehearsalOutcome, list[CheckFinding]]:
    """Play a scenario and compare.

    Args:
        scenario: What is played, with its placeholders.
        base: An empty directory that everything is made in.
        watch: Called with each line of the journal as it is written.
        cli: Path of the CLI; None finds one as always.
        directory: The scenario's, which relative paths of its policy are below.

    Raises:
        ChaperonError: The policy is wrong, no CLI was found, or the run did not end in time.
    """
    places = ScenarioPaths(*(str(base / name) for name in ("workspace", "home", "state")))
    placed = scenario.place(places)
    config = _policy(placed, places, cli, directory)
    await scratch.make(placed, places)
    async with ScriptedModel(placed.scripts()) as model, AsyncExitStack() as stack:
        environ = scratch.environment(Path(places.home), model.url, os.environ.get("PATH", os.defpath))
        own = paths.StatePaths(state=Path(places.state), runtime=stack.enter_context(scratch.socket_directory(base)))
        try:
            with anyio.fail_after(LONGEST_SECONDS):
                seen = await _run(Setup(config, own, environ, last=True), placed, places, model, watch)
        except* TimeoutError:
            raise RehearsalError(
                f"The rehearsal {placed.name!r} did not end within {LONGEST_SECONDS:g} s, so its agent was ended.",
                way_out="A step of the scenario waits for something that does not come; --keep shows what was done.",
            ) from None
        outcome = await anyio.to_thread.run_sync(_outcome, placed, places, model, seen)
    return outcome, [*seen.notes, *check(placed, outcome)]


def _policy(scenario: Scenario, places: ScenarioPaths, cli: str | None, directory: str) -> Config:
    try:
        config = policy_of(scenario, places, directory)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {explain(e, Config)}" for e in error.errors())
        raise UsageError(f"The scenario's policy is wrong, so nothing was started: {wrong}") from None
    usual = (
        {} if config.agent.says_who_pays else {"credential": INHERITED}
    )  # the scripted model's key is worth nothing to anybody
    own = {"command": cli} if cli else {}
    return config.model_copy(update={"agent": config.agent.model_copy(update={**usual, **own})})


async def _run(
    setup: Setup, scenario: Scenario, places: ScenarioPaths, model: ScriptedModel, watch: Callable[[bytes], object]
) -> Seen:
    seen = Seen()
    given = scenario.task
    wanted = Submission(
        prompt=given.prompt,
        repository=places.workspace,
        name=AGENT,
        goals=given.goals,
        constraints=given.constraints,
        expected_paths=given.expected_paths,
        permission_mode=given.permission_mode,
    )
    async with run_daemon(setup) as daemon, anyio.create_task_group() as tasks:
        await daemon.submit(wanted, by="rehearsal")
        try:
            person = Person(daemon, AGENT, scenario, model, seen.notes.append)
            for number, interjection in enumerate(scenario.interjections):
                tasks.start_soon(person.interject, number, name=f"interjection at {interjection.at}")
            async for line in daemon.journal.follow():
                seen.take(decode(line.data).event)
                watch(line.data)
                if seen.state.ended and line.n >= daemon.journal.last:
                    break
        finally:
            await daemon.put_down(AGENT, "the rehearsal has ended")  # nobody would ever watch over it again
        tasks.cancel_scope.cancel()
    return seen


def _outcome(scenario: Scenario, places: ScenarioPaths, model: ScriptedModel, seen: Seen) -> RehearsalOutcome:
    files = {wanted.path: _content(Path(places.workspace) / wanted.path) for wanted in scenario.expect.files or ()}
    return RehearsalOutcome(
        reviews=seen.reviews,
        requests=tuple(model.requests),
        files=files,
        incidents=seen.incidents,
        issues=seen.issues,
        interventions=seen.interventions,
        state=seen.state,
        exit_code=seen.exit_code,
    )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
