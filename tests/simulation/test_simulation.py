"""Thousands of seeded worlds, and what must hold in each. `CHAPERON_SIMULATION_SEEDS=START:COUNT` plays others."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from interventions.decisions import EndCause, PersonReason
from interventions.words import InterventionKind
from monitors.contract.words import Decision
from supervisor.core.board import Board
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.simulation.world import World

pytestmark = pytest.mark.slow

STOP = InterventionKind.EMERGENCY_STOP

START, COUNT = map(int, os.environ.get("CHAPERON_SIMULATION_SEEDS", "0:0").split(":"))
DICE_SEEDS = range(START, START + (COUNT or 120))
REAL_SEEDS = range(START, START + (COUNT or 60))


@dataclass
class Story:
    """What the journal says of one agent."""

    chosen: list[events.InterventionChosen] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    allowed: dict[str, int] = field(default_factory=dict)
    """Requests that a review let through, by sequence number of the review."""
    asked: list[PersonReason] = field(default_factory=list)
    states: list[AgentState] = field(default_factory=list)
    stopped_at: int | None = None
    again: list[events.RecoveryChosen] = field(default_factory=list)


def stories(world: World) -> dict[str, Story]:
    told = {agent: Story() for agent in world.agents}
    for seq, event in enumerate(world.journal, 1):
        story = told[event.agent]
        match event:
            case events.ReviewMade() if event.review.decision is not Decision.BLOCK:
                story.allowed[event.request_id] = seq
                assert story.stopped_at is None, "an action was let through after a stop"
            case events.InterventionChosen():
                open_ones = {one.intervention.id for one in story.chosen} - set(story.judged)
                assert not open_ones, f"{event.intervention.id} was chosen while {open_ones} was open"
                story.chosen.append(event)
                if event.intervention.kind is STOP:
                    assert story.stopped_at is None, "a stop during a stop"
                    story.stopped_at = seq
            case events.InterventionJudged():
                story.judged.append(event.judgement.intervention)
            case events.PersonNeeded():
                story.asked.append(event.need.reason)
            case events.RecoveryChosen():
                assert story.stopped_at is None, "an agent was started again after a stop"
                story.again.append(event)
            case events.StateChanged():
                story.states.append(event.after)
            case _:
                pass
    return told


def check(world: World) -> None:
    """All invariants of a world that was played to its end."""
    assert not world.board.failed, "no session raises"
    told = stories(world)
    for agent, story in told.items():
        check_interventions(world, story)
        check_starts(story)
        assert story.states, f"{agent} never took a step"
        assert story.states[-1].ended, f"{agent} did not end: {story.states[-1]}"
        if story.stopped_at is not None:
            assert story.states[-1] in (AgentState.STOPPED, AgentState.LOST), "a stop is final"
    check_nothing_ran_unreviewed(world, told)
    check_replay(world)
    judged = sum(len(story.judged) for story in told.values())
    assert sum(tally.total for tally in world.board.record.tallies.values()) == judged, (
        "each outcome is in the record once"
    )


def check_interventions(world: World, story: Story) -> None:
    chosen = [one.intervention for one in story.chosen]
    assert [one.id for one in chosen] == story.judged, "each intervention has one outcome"
    assert all(one.reason and one.explain for one in chosen)
    others = [one for one in story.chosen if one.intervention.kind is not STOP]
    assert len(others) <= world.settings.max_interventions_per_execution, "limit of a run"
    cooldown = world.settings.intervention_cooldown_seconds
    for earlier, later in zip(story.chosen, others[1:], strict=False):
        assert later.mono - earlier.mono >= cooldown, "cooldown"
    attempts: dict[tuple[str, str, InterventionKind], int] = {}
    for one in chosen:
        if not one.details.get("renewal_of"):
            at = one.issue.type, one.issue.key, one.kind
            attempts[at] = attempts.get(at, 0) + 1
    assert all(number <= 3 for number in attempts.values()), "attempts of a kind for one streak"
    messages = [one.message for one in chosen if one.message]
    assert len(messages) == len(set(messages)), "nothing is said twice unchanged"
    assert story.asked.count(PersonReason.EXHAUSTED) <= 1, "exhaustion is said once"


def check_starts(story: Story) -> None:
    crashes = [one for one in story.again if one.recovery.cause is EndCause.CRASHED]
    assert len(crashes) <= 3, "an agent that crashes is started again three times at most"
    waits = [after for before, after in itertools.pairwise(story.states) if before is AgentState.WAITING]
    assert len(waits) == len(story.again), "each wait comes to an end"
    assert set(waits) <= {AgentState.STARTING, AgentState.STOPPED}, "and to no other than a start or a stop"


def check_nothing_ran_unreviewed(world: World, told: dict[str, Story]) -> None:
    for agent, request, when in world.ran:
        reviewed = told[agent].allowed.get(request)
        assert reviewed is not None, f"{request} ran without a review that let it"
        assert reviewed <= when, f"{request} ran before its review was in the journal"


def check_replay(world: World) -> None:
    assert picture(world.rebuilt(), world) == picture(world.board, world), "the journal replays to the same state"


def picture(board: Board, world: World) -> list[object]:
    live = [(session.summary.agent, session.controller.explain(world.now)) for session in board.live()]
    return [sorted(board.summaries(), key=lambda summary: summary.agent), live, board.record]


def played(seeds: range, *, dice: bool) -> Iterator[World]:
    """Each world, played and checked; a failure names its seed."""
    for seed in seeds:
        world = World(seed, dice=dice)
        try:
            check(world.run())
        except Exception as error:
            error.add_note(f"seed {seed}, dice {dice}: CHAPERON_SIMULATION_SEEDS={seed}:1 plays it again")
            raise
        yield world


@pytest.mark.timeout(3_600 if COUNT else 300)
def test_whatever_the_dice_say_every_invariant_holds() -> None:
    worlds = list(played(DICE_SEEDS, dice=True))
    seen = [count_kinds(world) for world in worlds]
    again = {
        event.recovery.cause for world in worlds for event in world.journal if isinstance(event, events.RecoveryChosen)
    }
    if not COUNT:
        assert again == set(EndCause), f"not every early end was met: {again}"
        together = {kind: sum(counts.get(kind, 0) for counts in seen) for kind in InterventionKind}
        assert all(together.values()), f"a kind was never chosen, so the worlds are too tame: {together}"


@pytest.mark.timeout(3_600 if COUNT else 300)
def test_agents_that_misbehave_before_the_real_detectors_keep_every_invariant() -> None:
    seen = [count_kinds(world) for world in played(REAL_SEEDS, dice=False)]
    if not COUNT:
        assert sum(sum(counts.values()) for counts in seen) > 20, "the real detectors saw next to nothing"


def count_kinds(world: World) -> dict[InterventionKind, int]:
    counts: dict[InterventionKind, int] = {}
    for event in world.journal:
        if isinstance(event, events.InterventionChosen):
            counts[event.intervention.kind] = counts.get(event.intervention.kind, 0) + 1
    return counts


def test_one_seed_is_one_world() -> None:
    first, second = World(7, dice=True).run(), World(7, dice=True).run()
    assert first.journal == second.journal


def test_in_the_middle_of_any_world_the_journal_rebuilds_the_board() -> None:
    """Not only at the end: after every twentieth input of some worlds."""
    for seed in range(8):
        world = World(seed, dice=True)
        happened, inputs = world._happened, 0

        def checking(event: events.AnyEvent, world: World = world, happened: object = happened) -> None:
            nonlocal inputs
            inputs += 1
            happened(event)  # type: ignore[operator]
            if inputs % 20 == 0:
                check_replay(world)

        world._happened = checking  # type: ignore[method-assign]
        world.run()
        assert inputs > 0


def test_a_failing_seed_is_named() -> None:
    class Broken(World):
        def rebuilt(self) -> Board:
            return Board(self.make)

    with pytest.raises(AssertionError) as caught:
        check(Broken(3, dice=True).run())
    assert "replays to the same state" in str(caught.value)
