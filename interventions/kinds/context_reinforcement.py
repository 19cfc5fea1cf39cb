"""Context reinforcement: request, constraints, goals and boundaries repeated, with emphasis on those that matter.

Light repeats the request and the parts that bear on the issue; medium all constraints, goals and boundaries; strong
adds the state of the work, the attempts, and an example of another way. Each further one for the same issue is a step
stronger.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from interventions.contract import Case, Plan, Unfit
from interventions.goals import ordered
from interventions.settings import ContextReinforcementSettings
from interventions.texts import fields
from interventions.texts.soft_texts import OTHERWISE, SOFT_TEXTS
from interventions.texts.wording import words_of
from interventions.words import InterventionKind
from monitors.contract.errors import UsageError
from monitors.contract.tasks import Limits


@dataclass(frozen=True, slots=True)
class Strength:
    """How much is said."""

    name: str
    request_characters: int
    most_lines: int
    """Constraints, goals and boundaries each, at most."""
    total_characters: int


STRENGTHS = (
    Strength("light", 300, 2, 1_000),
    Strength("medium", 800, 8, 2_500),
    Strength("strong", 1_500, 12, 4_000),
)
"""A quarter, five eighths and all of the longest message: 250, 600 and 1,000 tokens or so."""

ADDED: dict[str, tuple[str, ...]] = {
    "scope_creep": (
        "Work only with the files and directories that the task is about.",
        "Leave system files, and configuration outside the repository, alone.",
    ),
    "resource_spiral": (
        "Be sparing: leave out every operation that the task does not need.",
        "Handle data piece by piece instead of loading all of it.",
    ),
    "runaway_execution": ("Start nothing new while something of yours still runs.",),
    "hallucination": ("Use only files, names and flags that you have looked up.",),
    "test_tampering": ("Tests stay as they are; the code is mended until they pass.",),
    "refusals": ("What was refused stays refused; find a way that its reason allows.",),
    "critical_action": ("What a rule forbids is not done by another way either.",),
}
"""Constraints that an issue of the type adds."""

EXAMPLES: dict[str, str] = {
    "repetitive_errors": 'a read fails with "no such file": list the directory, take the name that is there, read that.',
    "repetition": "a test run gave the same result twice: change the code or the test's input before the third run.",
    "scope_creep": "a helper outside the task would be nicer renamed: note it for the end, and call it by its old name.",
    "goal_drift": "the task is a bug and the code is ugly: mend the bug in three lines, and mention the rest at the end.",
    "resource_spiral": "a search over everything is slow: search the one package that the error names.",
    "exploration_wandering": "five files were read without a finding: search for the one word that the error has.",
    "hallucination": "a flag may exist: run the program with --help and look, then use what stands there.",
    "test_tampering": "a test expects 3 and gets 2: find where the third is lost; the 3 in the test stays.",
    "no_progress": "three fixes changed nothing: print the value that you believe in, and see whether it is so.",
    "refusals": "a push by force is refused: push to a new branch and name it at the end.",
    "text_loop": "a plan has been written twice: do its first step now.",
    "confused_state": "it is unclear which change broke it: look at the diff, and take the last change back.",
}
"""Examples of another way, by the type of issue."""


class ContextReinforcement:
    """Says the frame of the task again.

    Raises:
        UsageError: The strength of the settings is none of light, medium and strong.
    """

    name = "context_reinforcement"
    kind = InterventionKind.CONTEXT_REINFORCEMENT
    types: tuple[str, ...] = ()

    def __init__(self, settings: ContextReinforcementSettings | None = None) -> None:
        self._settings = settings or ContextReinforcementSettings()
        names = [strength.name for strength in STRENGTHS]
        if self._settings.reinforcement_strength not in names:
            raise UsageError(
                f"The reinforcement strength {self._settings.reinforcement_strength!r} is not known; nothing was started.",
                way_out=f"Set it to one of: {', '.join(names)}.",
            )
        self._first = names.index(self._settings.reinforcement_strength)

    def plan(self, case: Case) -> Plan | Unfit:
        """The message, and how strong it is."""
        for attempt in range(case.attempt, case.attempt + len(STRENGTHS)):
            strength = STRENGTHS[min(self._first + attempt - 1, len(STRENGTHS) - 1)]
            lines = self._lines(replace(case, attempt=attempt), strength)
            message = fields.cut(fields.OPENING + "\n".join(lines), strength.total_characters)
            if message not in case.said:
                return Plan(message, {"strength": strength.name})
        return Unfit("all that there is to say was said before, word for word")

    def _lines(self, case: Case, strength: Strength) -> list[str]:
        issue, task, todo = case.issue, case.situation.task, case.situation.todo
        constraints = emphasised((*task.constraints, *ADDED.get(issue.type, ())), issue.sentence + " " + issue.type)
        if strength is STRENGTHS[0]:
            constraints = [line for line in constraints if line.startswith("**")] or constraints[:1]
        lines = [
            f"{issue.sentence} {_way_on(case)}",
            f"What was asked: {fields.cut(' '.join(task.prompt.split()), strength.request_characters)}",
            *_listed("Constraints", constraints, strength),
        ]
        if strength is not STRENGTHS[0]:
            goals = [f"{goal} (done, by your own list)" if done else goal for goal, done in ordered(task.goals, todo)]
            lines += _listed("Goals, most important first", goals, strength)
            lines += _listed("Boundaries", _boundaries(case), strength)
        lines += self._more(case, strength)
        return lines

    def _more(self, case: Case, strength: Strength) -> list[str]:
        """Return the state of the work and other ways, as much as the strength allows."""
        lines = []
        if strength is STRENGTHS[-1] or case.excluded:
            facts = fields.facts_of(case)
            lines += [fields.fill("Done so far: {progress}.", facts), fields.fill("Still open: {open_tasks}.", facts)]
            lines += recovery_plan(case)
        example = EXAMPLES.get(case.issue.type)
        if example and self._settings.include_examples and strength is not STRENGTHS[0]:
            lines.append(f"For example, {example}")
        return [line for line in lines if line]


def emphasised(constraints: Sequence[str], about: str) -> list[str]:
    """The constraints, those that share a word with what the issue is about first and in bold."""
    words = words_of(about)
    relevant = [line for line in constraints if words_of(line) & words or line in _ALL_ADDED]
    return [f"**{line}**" for line in relevant] + [line for line in constraints if line not in relevant]


_ALL_ADDED = frozenset(line for lines in ADDED.values() for line in lines)


def recovery_plan(case: Case) -> list[str]:
    """Return the steps for a rollback by hand, if a rollback was due and has no checkpoint; else nothing."""
    if not case.excluded:
        return []
    return [
        f"Going back to an earlier state was due, but {case.excluded}. So get there by hand:",
        "1. Look at what you changed since this began (git status, git diff).",
        "2. Take back what did not help, one file at a time, and keep what works.",
        "3. Check that the state before works, and start again from there with another approach.",
    ]


def _boundaries(case: Case) -> list[str]:
    task, limits = case.situation.task, case.limits.limits
    lines = [f"Files: {', '.join(task.expected_paths[:12])}"] if task.expected_paths else []
    defaults = Limits()
    for name, unit in (
        ("max_token_usage", "tokens"),
        ("max_execution_time_seconds", "seconds"),
        ("max_memory_mb", "MB"),
    ):
        most = getattr(limits, name)
        if most is not None and most != getattr(defaults, name):
            lines.append(f"At most {most} {unit}")
    if (left := fields.steps_left(case)) is not None:
        lines.append(f"Steps left: {left}")
    return lines


def _way_on(case: Case) -> str:
    text = SOFT_TEXTS.get(case.issue.type, OTHERWISE)
    return text.ways[min(case.attempt, len(text.ways)) - 1]


def _listed(title: str, lines: Sequence[str], strength: Strength) -> list[str]:
    if not lines:
        return []
    return [
        f"{title}:",
        *(f"- {fields.cut(' '.join(line.split()), fields.MAX_FACT)}" for line in lines[: strength.most_lines]),
    ]
