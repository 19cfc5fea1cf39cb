"""The configuration of what is watched for. Keys and defaults are those of the detectors' own settings in `monitors`."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from monitors.detectors import DetectorSettings
from supervisor.config.base import Count, Expression, Seconds, Section, Share, Switchable, Texts

_DEFAULT = DetectorSettings()

Level = Literal["low", "medium", "high"]


class PatternSection(Switchable):
    """What every pattern has."""

    sensitivity: Level | None = None
    """How early this one speaks up. Empty: as `patterns.sensitivity` says."""


class RepetitiveErrorsSection(PatternSection):
    """The same error again and again: paths, numbers, ids and times aside."""

    threshold: Count = _DEFAULT.repetitive_errors.threshold
    """How many times the same error makes an issue."""
    forget_after: Count = _DEFAULT.repetitive_errors.forget_after
    """Tool results without the error after which it is over."""


class RepetitionSection(PatternSection):
    """The same calls with the same results: alone, in cycles, in any order, or nearly the same."""

    threshold: Count = _DEFAULT.repetition.threshold
    """How many times in a row a call or a cycle makes an issue."""
    longest_cycle: Annotated[int, Field(ge=1, le=20)] = _DEFAULT.repetition.longest_cycle
    """Calls in the longest cycle that is looked for."""
    near_duplicates: Count = _DEFAULT.repetition.near_duplicates
    """Calls that differ little and show nothing new that make an issue."""
    polling_factor: Count = _DEFAULT.repetition.polling_factor
    """How many times as often a call that waits for something may repeat."""


class ScopeCreepSection(PatternSection):
    """Work on files that the task is not about."""

    threshold: Share = _DEFAULT.scope_creep.threshold
    """Share of the files written that may lie outside the task's expected paths."""
    infer: bool = _DEFAULT.scope_creep.infer
    """Whether expected paths are read out of the prompt where the task states none."""
    inferred_threshold: Share = _DEFAULT.scope_creep.inferred_threshold
    """The share where the expected paths were only read out of the prompt."""
    critical_paths: Texts = _DEFAULT.scope_creep.critical_paths
    """Globs, relative to the repository, of files that weigh three times as much."""


class ResourceSpiralSection(PatternSection):
    """Resources that run away: near a limit, or growing from look to look."""

    threshold: Share = _DEFAULT.resource_spiral.threshold
    """Share of a limit, or growth, from which it is reported."""
    growth_rate: Annotated[float, Field(gt=1, le=100)] = _DEFAULT.resource_spiral.growth_rate
    """How many times the look before each look must be for growth to be a spiral."""


class GoalDriftSection(PatternSection):
    """Actions that have less and less to do with the goals."""

    threshold: Share = _DEFAULT.goal_drift.threshold
    """Mean alignment of the recent actions with the goals above which there is no drift."""
    fall: Share = _DEFAULT.goal_drift.fall
    """How much lower than before it must be."""
    window: Count = _DEFAULT.goal_drift.window
    """Actions that are recent, and actions before those that they are compared with."""


class ExplorationWanderingSection(PatternSection):
    """Looking around without getting anywhere."""

    threshold: Share = _DEFAULT.exploration_wandering.threshold
    """Score of many directories, going back and lost focus from which it is wandering."""
    window: Annotated[int, Field(ge=2, le=1_000)] = _DEFAULT.exploration_wandering.window
    """Looks over which is measured; fewer say nothing."""


class HallucinationSection(PatternSection):
    """Things that do not exist taken for real, and claims of success that the results deny."""

    threshold: Count = _DEFAULT.hallucination.threshold
    """Different missing things that make an issue."""
    claims: bool = _DEFAULT.hallucination.claims
    """Whether a claim that all tests pass is held against the last test run."""


class TextLoopSection(PatternSection):
    """The model repeats itself in words."""

    threshold: Count = _DEFAULT.text_loop.threshold
    """Texts that say the same, with no tool call between, that make an issue."""
    repeats: Count = _DEFAULT.text_loop.repeats
    """How often one text must end on the same passage."""


class BlockedOnHumanSection(PatternSection):
    """The agent waits for a person and nobody knows."""

    threshold: Count = _DEFAULT.blocked_on_human.threshold
    """Results asking for the same password, signature or answer that make an issue."""
    silent_seconds: Seconds = _DEFAULT.blocked_on_human.silent_seconds
    """How long a call may neither return nor use the processor, in seconds."""
    questions: bool = _DEFAULT.blocked_on_human.questions
    """Whether a turn that ends with a question nobody may answer is reported."""


class TestTamperingSection(PatternSection):
    """Tests made to pass instead of code made right."""

    __test__ = False

    threshold: Annotated[float, Field(gt=0, le=100)] = _DEFAULT.test_tampering.threshold
    """Weight of all tampering since a person last spoke that makes an issue; a skipped test weighs 1 while tests fail."""


class NoProgressSection(PatternSection):
    """No test, commit or new file, and nothing new tried. Its figures are the section `progress`."""


class CombinationsSection(Switchable):
    """Patterns that are worse together than each alone: an error and exploration loop, runaway execution, a confused state."""


class CustomPatternSection(Section):
    """A pattern of your own: something that must not happen again and again."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")]
    """The issue's type: lower case letters, digits and underscores."""
    description: Annotated[str, Field(min_length=1)]
    """One sentence for people and for the agent."""
    match: Expression
    """Regular expression that is searched in each tool call (its tool and the values of its input) and its result, and in
    each line that the CLI prints on its error output (behind a line `CLI`)."""
    threshold: Count = 3
    """How many matches in the window make an issue."""
    window: Count = 20
    """Over how many latest tool calls matches are counted."""
    severity: Literal["low", "medium", "high", "critical"] = "medium"
    """How bad it is; chooses the intervention."""

    @model_validator(mode="after")
    def _of_its_own(self) -> "CustomPatternSection":
        if hasattr(_DEFAULT, self.name):
            raise ValueError(f"{self.name!r} is the name of a built-in pattern; give yours another")
        return self


class Learning(Section):
    """Thresholds that follow what people say of issues with `chaperon outcome`: slowly, within bounds, and reversibly."""

    enabled: bool = _DEFAULT.learning.enabled
    """Whether outcomes change thresholds. The journal has them either way."""
    least_outcomes: Count = _DEFAULT.learning.least_outcomes
    """Outcomes of a pattern since its last adjustment before it may be adjusted."""
    accuracy: Share = _DEFAULT.learning.accuracy
    """Share of a pattern's alarms that must be confirmed; below it its thresholds rise."""
    step: Annotated[float, Field(gt=0, le=0.5)] = _DEFAULT.learning.step
    """How far one adjustment goes: a tenth of the threshold by default."""
    infer: bool = _DEFAULT.learning.infer
    """Whether interventions count too: one that helped confirms its issue, and one after which the run went clearly
    worse makes it a false alarm."""
    lowest: Annotated[float, Field(ge=0.25, le=1)] = _DEFAULT.learning.lowest
    """What thresholds may at least be multiplied with."""
    highest: Annotated[float, Field(ge=1, le=4)] = _DEFAULT.learning.highest
    """What they may at most be multiplied with."""


class Judge(Section):
    """A model that is asked, through the CLI and with no tools, whether an agent is stuck in a way that no rule sees."""

    enabled: bool = _DEFAULT.judge.enabled
    """Whether one is asked. It costs tokens of the account that agents use."""
    model: str = _DEFAULT.judge.model
    """Which model. Empty: the CLI's own choice."""
    first_after_steps: Count = _DEFAULT.judge.first_after_steps
    """Tool calls of an agent before the first question."""
    every_steps: Count = _DEFAULT.judge.every_steps
    """Tool calls between questions."""
    most_questions: Count = _DEFAULT.judge.most_questions
    """Questions about one agent."""
    most_cost_usd: Annotated[float, Field(gt=0)] = _DEFAULT.judge.most_cost_usd
    """What all questions about one agent may cost, in US dollars, as the CLI says."""
    least_confidence: Share = _DEFAULT.judge.least_confidence
    """Answers less sure are not raised."""
    last_steps: Annotated[int, Field(ge=1, le=50)] = _DEFAULT.judge.last_steps
    """Tool calls that the model is shown."""
    timeout_seconds: Seconds = _DEFAULT.judge.timeout_seconds
    """How long an answer may take, in seconds."""


class PatternsSection(Section):
    """The detectors that see when a run goes wrong."""

    enabled_patterns: Texts = ("all",)
    """Names of the detectors in use, yours among them, or `all`."""
    custom_patterns: Annotated[tuple[CustomPatternSection, ...], Field(strict=False)] = ()
    """Patterns of your own."""
    sensitivity: Level = "medium"
    """How early detectors speak up. Low: fewer false alarms. High: sooner."""
    repetitive_errors: RepetitiveErrorsSection = RepetitiveErrorsSection()
    repetition: RepetitionSection = RepetitionSection()
    scope_creep: ScopeCreepSection = ScopeCreepSection()
    resource_spiral: ResourceSpiralSection = ResourceSpiralSection()
    goal_drift: GoalDriftSection = GoalDriftSection()
    exploration_wandering: ExplorationWanderingSection = ExplorationWanderingSection()
    hallucination: HallucinationSection = HallucinationSection()
    text_loop: TextLoopSection = TextLoopSection()
    blocked_on_human: BlockedOnHumanSection = BlockedOnHumanSection()
    test_tampering: TestTamperingSection = TestTamperingSection()
    no_progress: NoProgressSection = NoProgressSection()
    combinations: CombinationsSection = CombinationsSection()
    learning: Learning = Learning()
    judge: Judge = Judge()


def _test_pattern(value: str) -> str:
    groups = set(re.compile(value).groupindex)
    if not groups & {"passed", "total"}:
        raise ValueError("it names no group `passed` or `total`, such as (?P<passed>\\d+)")
    return value


TestPattern = Annotated[Expression, AfterValidator(_test_pattern)]


class ProgressSection(Section):
    """When a run counts as stuck: by what the agent does, not by how many steps it took."""

    consecutive_stuck_tolerance: Count = 8
    """Steps since the last progress that are tolerated; 6 is more eager, 10 more patient."""
    min_steps_before_intervention: Count = 10
    """Steps of the run before any intervention: an agent reads before it writes."""
    progress_check_interval: Count = 5
    """Steps between two checks."""
    tier_escalation_wait: Count = 10
    """Steps between an intervention and the next stronger one; 8 is more eager, 15 more patient."""
    strategy_reeval_frequency: Count = 15
    """Steps without progress after which another approach is suggested."""
    test_patterns: Annotated[tuple[TestPattern, ...], Field(strict=False)] = ()
    """Regular expressions for test output of your own, tried first, with groups `passed` and `failed`, or `total` and
    `failed`. Example: `(?P<passed>\\d+) ok, (?P<failed>\\d+) broken`."""
