"""The choice of an answer: the mildest that works, and never more than is in proportion.

1. Kinds that may not be used are removed from the issue's ladder (its pattern's kinds, weakest first, with an emergency
   stop last): kinds that the configuration forbids, kinds whose attempts for this streak are used up, and kinds whose
   record over all runs shows more harm than good.
2. The strategy names the next rung: the first, if nothing was tried. So a first `repetitive_errors` of medium severity
   (0.5 * 0.7 * 1.2 = 0.42) gets a soft correction: its band would allow a reinforcement, and throttling is not on its
   ladder at all.
3. The score's band is a ceiling. A rung above it is not in proportion, and the next milder one is taken; if even the
first
   is above it, a soft correction. Each answer of the last five minutes raises the score by 0.3, so the ceiling rises by
   one band or two with each answer that failed.
4. A rollback that the configuration leaves to people is proposed to them, once. A rollback without a safe checkpoint
cannot
   be done. In both cases the agent gets the next milder answer, with a plan to get back by hand, before a stop may
   follow.
5. An answer that does not fit the case (no limit left to lower, the same words again) is passed over.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from interventions.choice.episodes import Episodes
from interventions.choice.scoring import Score, score
from interventions.choice.strategies.progressive import Progressive
from interventions.contract import (
    ASKED_A_PERSON,
    MAX_MESSAGE,
    Answer,
    Case,
    LadderPosition,
    Past,
    Plan,
    Strategy,
    Unfit,
)
from interventions.decisions import PersonNeed, PersonReason
from interventions.kinds import resource_throttling
from interventions.kinds.checkpoint_rollback import FRESH
from interventions.settings import InterventionSettings
from interventions.words import InterventionKind
from monitors.contract import anyjson
from monitors.contract.issues import Issue
from monitors.contract.wording import counted

SOFT, STOP = InterventionKind.SOFT_CORRECTION, InterventionKind.EMERGENCY_STOP
ROLLBACK = InterventionKind.CHECKPOINT_ROLLBACK
SPEAKING = frozenset({SOFT, InterventionKind.CONTEXT_REINFORCEMENT})

SPENT = frozenset(
    {
        "tokens",
        "cost",
        "cost_usd",
        "run time",
        "seconds",
        "time per step",
        "calls",
        "file operations",
        "file_operations",
        "steps",
    }
)
"""Resources that are used up and not held: as detectors and limits name them."""

Asked = Callable[[PersonReason, Issue], bool]
"""Whether a person was asked already."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A choice with all that led to it."""

    kind: InterventionKind
    answer: str
    """Name of the answer that made the plan: the kind's, or a plugin's."""
    plan: Plan
    score: Score
    position: LadderPosition
    ladder: tuple[InterventionKind, ...]
    """The whole ladder of the issue's type."""
    passed_over: Mapping[InterventionKind, str]
    """Why each other kind was not taken."""
    instead_of_rollback: str = ""
    """Why a rollback that was due is not done."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Plugins that raised or answered with something unusable, with the error; they are not asked again in this run."""

    def reason(self) -> str:
        """The reason for this kind, for a person, apart from the sum and the other kinds."""
        return self.position.why


@dataclass(slots=True)
class _Search:
    """The state of the search."""

    out: dict[InterventionKind, str]
    """Kinds that are not to be used, with why."""
    instead: str = ""
    failed: dict[str, str] = field(default_factory=dict)


class Chooser:
    """Picks an answer. Holds no state of a run.

    Args:
        settings: What is allowed.
        strategy: Proposes the rung.
        answers: The interventions, plugins before built-in ones.
    """

    def __init__(self, settings: InterventionSettings, strategy: Strategy, answers: Sequence[Answer]) -> None:
        self._settings = settings
        self._strategy = strategy
        self._answers = answers
        self._otherwise = Progressive(settings.strategy)

    def pick(
        self, case: Case, past: Past, worth: Score, episodes: Episodes, asked: Asked, off: frozenset[str]
    ) -> Pick | PersonNeed | None:
        """Choose for one issue, or hand it to a person; None if a person has been asked and nothing else is left.

        Args:
            case: The issue and the situation; the attempt is filled in here.
            past: What was tried.
            worth: The issue's score.
            episodes: Attempts so far.
            asked: Whether a person was asked already.
            off: Plugins that failed earlier in the run.
        """
        issue = case.issue
        strategy = self._otherwise if self._strategy.name in off else self._strategy
        whole, failed = self._ladder(strategy, issue)
        search = _Search(
            failed=failed,
            out={kind: why for kind in {*whole, SOFT} if (why := self._barred(kind, issue, episodes, past))},
        )
        spared = episodes.was_spared(issue)
        while True:
            ladder = tuple(kind for kind in whole if kind not in search.out)
            if not ladder:
                return self._nothing(issue, whole, search, asked)
            position = self._position(strategy, ladder, past, search)
            if position.index >= len(ladder):
                return self._left(PersonReason.NOTHING_LEFT, issue, "every answer to it was tried in vain", asked)
            ceiling = worth.ceiling
            if search.instead and not spared and ceiling is STOP:
                ceiling = ROLLBACK
            kind = self._within(ladder, position.index, ceiling, search)
            if kind is None:
                return self._left(
                    PersonReason.NOTHING_LEFT, issue, "only a stop is left, and none is called for yet", asked
                )
            if kind is ROLLBACK and (why := self._needless(case)):
                search.out[kind] = search.instead = why
                continue
            if kind is ROLLBACK and not self._settings.auto_rollback:
                if not asked(PersonReason.ROLLBACK_PROPOSED, issue):
                    return self._proposal(case)
                search.instead = ASKED_A_PERSON
                search.out[kind] = search.instead
                continue
            planned = self._plan(kind, replace(case, excluded=search.instead), episodes, off, search)
            if isinstance(planned, Unfit):
                search.out[kind] = planned.why
                search.instead = planned.why if kind is ROLLBACK else search.instead
                continue
            return self._picked(kind, planned, worth, position, whole, search)

    def _needless(self, case: Case) -> str:
        """Why a rollback would change nothing for the better, or the empty string."""
        if case.issue.details.get("resource") in SPENT:
            return "what is used up does not come back with the files"
        found = case.situation.checkpoints.before(case.issue, self._settings.checkpoint_rollback.max_rollback_depth)
        if isinstance(found, str) or not found.unchanged or case.issue.type in FRESH:
            return ""
        return f"no file has changed since {found.name}"

    def _barred(self, kind: InterventionKind, issue: Issue, episodes: Episodes, past: Past) -> str:
        """Why a kind may not be used, or the empty string."""
        if not self._settings.allows(kind):
            return "the configuration forbids it"
        most = self._settings.attempts(kind)
        tried = episodes.rollbacks() if kind is ROLLBACK else episodes.attempts(issue, kind)
        if tried >= most:
            return f"it was tried {counted(tried, 'time')}, and {most} is the most"
        if kind is not STOP and past.record.of(kind, issue.type).harms:
            return "its record says that it harms more often than it helps"
        if kind is ROLLBACK and (error := episodes.restore_error(issue)):
            return f"the last one failed: {error}"
        return ""

    def _ladder(self, strategy: Strategy, issue: Issue) -> tuple[tuple[InterventionKind, ...], dict[str, str]]:
        """Return the ladder that the strategy climbs, and the strategy's failure if another one is used for it."""
        try:
            whole = tuple(InterventionKind(kind) for kind in strategy.ladder(issue))
        except Exception as error:  # noqa: BLE001 - a strategy may be anybody's code, and an issue is answered all the same
            return tuple(self._otherwise.ladder(issue)), {strategy.name: _said(error)}
        return whole, {}

    def _position(
        self, strategy: Strategy, ladder: tuple[InterventionKind, ...], past: Past, search: _Search
    ) -> LadderPosition:
        if strategy.name in search.failed:
            strategy = self._otherwise
        try:
            position = strategy.position(ladder, past)
            return LadderPosition(max(0, position.index), str(position.why))
        except Exception as error:  # noqa: BLE001 - as above
            search.failed[strategy.name] = _said(error)
        position = self._otherwise.position(ladder, past)
        return replace(position, why=f"{position.why} (strategy {strategy.name!r} failed)")

    def _within(
        self, ladder: tuple[InterventionKind, ...], index: int, ceiling: InterventionKind, search: _Search
    ) -> InterventionKind | None:
        """The strongest rung up to this one that is in proportion; None if that leaves nothing but a stop."""
        kind = next((rung for rung in reversed(ladder[: index + 1]) if rung.rank <= ceiling.rank), None)
        if kind is not None:
            return kind
        if SOFT not in search.out:
            return SOFT
        return ladder[0] if ladder[0] is not STOP else None

    def _plan(
        self, kind: InterventionKind, case: Case, episodes: Episodes, off: frozenset[str], search: _Search
    ) -> tuple[str, Plan] | Unfit:
        """Ask the answers of a kind, in order, for a plan."""
        case = replace(case, attempt=episodes.attempts(case.issue, kind) + 1)
        unfit = Unfit("nothing answers this type")
        for answer in self._answers:
            if answer.kind is not kind or answer.name in off or (answer.types and case.issue.type not in answer.types):
                continue
            try:
                planned = _checked(kind, answer.plan(case), case)
            except Exception as error:  # noqa: BLE001 - a plugin may be anybody's code; the built-in answer follows it
                search.failed[answer.name] = _said(error)
                unfit = Unfit(f"{answer.name} failed: {_said(error)}")
                continue
            if isinstance(planned, Plan):
                return answer.name, planned
            unfit = planned
        return unfit

    def _picked(
        self,
        kind: InterventionKind,
        planned: tuple[str, Plan],
        worth: Score,
        position: LadderPosition,
        whole: tuple[InterventionKind, ...],
        search: _Search,
    ) -> Pick:
        passed_over = {
            other: search.out.get(other) or _not_taken(other, kind, whole, worth)
            for other in InterventionKind
            if other is not kind
        }
        name, plan = planned
        return Pick(kind, name, plan, worth, position, whole, passed_over, search.instead, search.failed)

    # ── when a person is asked ────────────────────────────────────────────────────────────────────────────────────

    def _nothing(
        self, issue: Issue, whole: Sequence[InterventionKind], search: _Search, asked: Asked
    ) -> PersonNeed | None:
        if not any(self._settings.allows(kind) for kind in whole):
            kinds = ", ".join(whole)
            return self._left(
                PersonReason.NOTHING_ALLOWED, issue, f"the configuration forbids all that answers it ({kinds})", asked
            )
        why = "; ".join(f"{kind}: {search.out[kind]}" for kind in whole if kind in search.out)
        return self._left(PersonReason.NOTHING_LEFT, issue, f"nothing is left to try ({why})", asked)

    def _left(self, reason: PersonReason, issue: Issue, why: str, asked: Asked) -> PersonNeed | None:
        if asked(reason, issue):
            return None
        hold = reason is not PersonReason.NOTHING_ALLOWED
        held = " The agent waits at its next tool call." if hold else " The agent goes on."
        return PersonNeed(
            reason, issue, f"{issue.sentence} A person must decide: {why}.{held}", "chaperon show {agent}", hold
        )

    def _proposal(self, case: Case) -> PersonNeed:
        found = case.situation.checkpoints.before(case.issue, self._settings.checkpoint_rollback.max_rollback_depth)
        name = ""
        if isinstance(found, str):
            what, way = f"A rollback is due, but {found}.", "chaperon show {agent}"
        else:
            name = found.name
            what = f"A rollback to {found.name} ({found.description}) is proposed; interventions.auto_rollback is off."
            way = f"chaperon rollback {name}"
        said = f"{case.issue.sentence} {what}"
        return PersonNeed(PersonReason.ROLLBACK_PROPOSED, case.issue, said, way, hold=False, checkpoint=name)


def _checked(kind: InterventionKind, planned: Plan | Unfit, case: Case) -> Plan | Unfit:
    """The plan, if it has what its kind needs.

    Raises:
        TypeError, ValueError, KeyError: It has not.
    """
    if isinstance(planned, Unfit):
        return planned
    if not isinstance(planned, Plan):
        raise TypeError(f"it answered with a {type(planned).__name__} and not with a Plan or Unfit")
    if len(planned.message) > MAX_MESSAGE:
        raise ValueError(f"its message has {len(planned.message)} characters; {MAX_MESSAGE} is the most")
    if kind in SPEAKING and not planned.message.strip() and not planned.details.get("effect"):
        raise ValueError("it says nothing and names no effect")
    if kind in SPEAKING and planned.message and planned.message in case.said:
        return Unfit("this was said before, word for word")
    needed = {InterventionKind.RESOURCE_THROTTLING: "limits", ROLLBACK: "checkpoint"}.get(kind)
    if needed and needed not in planned.details:
        raise ValueError(f"its details lack {needed!r}")
    if needed == "limits":
        resource_throttling.from_json(planned.details["limits"], case.limits)
    anyjson.dumps(dict(planned.details))  # what cannot be journalled cannot be done
    return planned


def _said(error: Exception) -> str:
    """An error in a line, with its type."""
    return f"{type(error).__name__}: {str(error)[:200]}"


def _not_taken(other: InterventionKind, kind: InterventionKind, whole: Sequence[InterventionKind], worth: Score) -> str:
    """Why a kind that could have been used was not."""
    if other not in whole:
        return "it does not answer this pattern"
    if other.rank > worth.ceiling.rank:
        return f"a score of {worth.total:g} is too low for it"
    return "a milder answer comes first" if other.rank > kind.rank else "a stronger answer is due"


def worth_of(issue: Issue, risk: float, episodes: Episodes, mono: float) -> Score:
    """An issue's score at this moment."""
    return score(issue, risk=risk, steps=episodes.steps(issue, mono))
