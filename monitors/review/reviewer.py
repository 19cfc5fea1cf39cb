"""The reviewer: an action and its context in, a review out. Pure, bounded, and it raises for no input."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from monitors.contract.actions import Action, Factor, Review, ReviewContext
from monitors.contract.words import Decision, MonitoringLevel, Severity
from monitors.review import origins, tools, written
from monitors.review.commands import Seen, command_findings
from monitors.review.knowledge.book import LAUNCHERS, PROGRAMS, RULES
from monitors.review.rules.findings import Finding, severity_of
from monitors.review.rules.rules import RuleBook
from monitors.review.scene.lookups import FileLookups, NoFiles
from monitors.review.scene.places import ActionPlaces
from monitors.review.scene.scene import Scene
from monitors.review.settings import ReviewSettings
from monitors.review.shell.launch import LauncherBook
from monitors.review.tampering import texts
from monitors.review.verdict.decision import decision, watched_at
from monitors.review.verdict.rationality import Rationality, rationality
from monitors.review.verdict.rewrites import masked_input, rewritten
from monitors.review.verdict.risk import Risk, RiskCalculator, StandardRisk
from monitors.review.verdict.scopes import in_container

MAX_TOOL = 1_000
"""Longest name of a tool, in characters. The CLI's model is told of none longer than 128."""
MAX_EFFECTS = 50
"""Most side effects listed; the worst come first."""
Note = Callable[[str, Callable[[], list[str]]], None]
"""Told of each stage as it ends: its name, and what gives the lines that say what came out of it."""
PROTECTS = frozenset({"chaperon.self-protection", "chaperon.steering", "process.kill-guard"})
"""Rules that no setting takes away."""


def make_reviewer(
    settings: ReviewSettings | None = None, facts: FileLookups | None = None, risk: RiskCalculator | None = None
) -> "StepReviewer":
    """Make the reviewer that the gate, the command line and replays all use.

    Args:
        settings: what a person has set; the defaults where None.
        facts: the file system and git, as `supervisor.runtime.filesystem` looks them up; nothing is known where None.
        risk: another way to weigh findings, from a plugin.
    """
    return StepReviewer(settings or ReviewSettings(), facts or NoFiles(), risk or StandardRisk())


class StepReviewer:
    """Reviews every tool call by what it would do."""

    def __init__(self, settings: ReviewSettings, facts: FileLookups, risk: RiskCalculator) -> None:
        self._settings = settings
        self._closely = watched_at(MonitoringLevel.STRICT, settings)
        self._strict = settings.profile == "strict"
        self._facts: FileLookups = NoFiles() if self._strict else facts
        self._risk = risk
        disabled = settings.disabled - PROTECTS
        self._launchers = LauncherBook((*settings.launchers, *LAUNCHERS))
        self._book = RuleBook(
            (*PROGRAMS, *settings.programs), [rule for rule in (*settings.rules, *RULES) if rule.name not in disabled]
        )

    def review(self, action: Action, context: ReviewContext, note: Note | None = None) -> Review:
        """Say what the action would do and whether it may run."""
        review, found, seen = self._as_it_stands(action, context, note)
        if review.decision is not Decision.BLOCK or review.stop:
            return review
        return self._made_harmless(review, found, seen, action, context, note)

    def _as_it_stands(
        self, action: Action, context: ReviewContext, note: Note | None
    ) -> tuple[Review, Sequence[Finding], Sequence[Seen]]:
        """The review without a rewrite, with what it rests on."""
        scene = self._scene(action, context)
        given = _mapping(action.input)
        tool = str(action.tool)
        if len(tool) > MAX_TOOL:
            said = f"The name of this tool has {len(tool)} characters, and no tool has more than {MAX_TOOL}. Call one that there is."
            return _malformed(said), [], []
        command = tools.shell_text(scene, tool, given)
        if tool == "Bash" and not isinstance(given.get("command"), str):
            kind = type(given.get("command")).__name__ if "command" in given else "nothing"
            said = f"Bash was given {kind} as its command, where a text belongs. Give the command as a text."
            return _malformed(said), [], []
        found: list[Finding] = []
        seen: list[Seen] = []
        if command is not None:
            scene.background = tools.in_background(tool, given)
            found, seen = command_findings(command, scene, note)
            commands = scene.commands
            for path, text in scene.files.items():
                found += written.findings(scene, path, [text])
                found += texts.findings(scene, path, None, text, whole=True)
                scene.origins += written.harm_left(scene, path, text, whole=True)
            scene.commands = ()
            found += origins.taken_up(scene, commands)
        if tool != "Bash":
            found += tools.findings(scene, tool, given)
        if self._settings.profile == "container":
            found = in_container(found, scene)
        if note is not None:
            note("judge", lambda: [f"{finding.rule} {finding.risk:.2f} {finding.why}".rstrip() for finding in found])
        return self._weighed(action, found, scene, context, note), found, seen

    def _settings_for(self, context: ReviewContext) -> ReviewSettings:
        closely = context.task is not None and context.task.monitoring_level is MonitoringLevel.STRICT
        return self._closely if closely else self._settings

    def _scene(self, action: Action, context: ReviewContext) -> Scene:
        container = self._settings.profile == "container"
        places = ActionPlaces(
            action,
            context,
            self._facts,
            strict=self._strict,
            container=container,
            writable=self._settings.writable,
        )
        one_turn = context.task is not None and not context.task.keep_open
        return Scene(
            self._settings,
            places,
            self._facts,
            self._book,
            self._launchers,
            environment=context.environment,
            one_turn=one_turn,
            past=context.origins,
        )

    def _weighed(
        self, action: Action, found: Sequence[Finding], scene: Scene, context: ReviewContext, note: Note | None
    ) -> Review:
        risk = self._risk.score(found, context, strict=self._strict)
        if note is not None:
            note("weigh", partial(_of_risk, risk))
        touches = tuple(scene.touches.values())
        sense = rationality(action, context, touches)
        stop = any(finding.stop for finding in found)
        settings = self._settings_for(context)
        decided = Decision.BLOCK if stop else decision(risk.score, sense.score, settings)
        if note is not None:
            note("decide", partial(_of_sense, sense, f"threshold {settings.threshold:.2f}: {decided.value}"))
        effects = sorted((finding.effect for finding in found if finding.effect), key=lambda made: -made.severity.rank)
        return Review(
            decision=decided,
            risk=risk.score,
            rationality=sense.score,
            severity=_severity(found),
            reasoning=reasoning(decided, risk, sense),
            rule=risk.worst.rule if risk.worst and decided is not Decision.ALLOW else "",
            side_effects=tuple(dict.fromkeys(effects))[:MAX_EFFECTS],
            touches=touches,
            grounds=tuple(scene.grounds),
            origins=tuple(scene.origins) if decided is not Decision.BLOCK else (),
            risk_factors=(
                *risk.factors,
                *(Factor(f"rationality: {name}", part) for name, part in sense.parts.items() if part < 0.5),
            ),
            stop=stop,
            checkpoint_first=not self._strict
            and not context.captured
            and any(finding.undo == "files" and finding.risk >= 0.5 for finding in found),
        )

    def _made_harmless(
        self,
        review: Review,
        found: Sequence[Finding],
        seen: Sequence[Seen],
        action: Action,
        context: ReviewContext,
        note: Note | None,
    ) -> Review:
        """The same action as a modify, where one rewrite does it and what comes out is itself allowed."""
        changed = self._rewritten(review, found, seen, action)
        if changed is None or changed == action.input:
            return review
        again, _, _ = self._as_it_stands(replace(action, input=changed), context, None)
        shown = str(changed.get("command", "the same call without the secret"))[:400]
        if note is not None:
            note("rewrite", lambda: [shown, f"reviewed as {again.decision.value}"])
        if again.decision is not Decision.ALLOW:
            return review
        return replace(
            review,
            decision=Decision.MODIFY,
            updated_input=changed,
            reasoning=f"{review.reasoning} It runs as `{shown}` instead.",
        )

    def _rewritten(
        self, review: Review, found: Sequence[Finding], seen: Sequence[Seen], action: Action
    ) -> Mapping[str, object] | None:
        given = _mapping(action.input)
        if action.tool != "Bash" and any(finding.rewrite == "mask" for finding in found):
            return masked_input(given)
        for finding, invocation in seen:
            if finding.rule == review.rule and finding.rewrite and isinstance(command := given.get("command"), str):
                changed = rewritten(finding.rewrite, command, invocation)
                return None if changed is None else {**given, "command": changed}
        return None


def _severity(found: Sequence[Finding]) -> Severity:
    """Return the gravest severity of the effects and of the risks of the findings. An effect alone may be harmless."""
    each = [severity_of(finding.risk) for finding in found]
    each += [finding.effect.severity for finding in found if finding.effect]
    return max(each, key=lambda severity: severity.rank, default=Severity.LOW)


def reasoning(decided: Decision, risk: Risk, sense: Rationality) -> str:
    """Return the verdict's reason and an alternative."""
    worst = risk.worst
    if decided is Decision.ALLOW:
        return "Nothing speaks against it."
    said = [
        f"This {worst.why}."
        if worst and worst.why
        else "This has side effects and does not look like the next step of the task."
    ]
    if worst and worst.instead:
        said.append(worst.instead)
    if worst and worst.alternative:
        said.append(f"For example: `{worst.alternative}`.")
    if sense.reasons and decided is not Decision.BLOCK:
        said.append(f"Also, {'; '.join(sense.reasons)}.")
    return " ".join(said)


def _of_risk(risk: Risk) -> list[str]:
    return [f"risk {risk.score:.2f}", *(f"{factor.name} {factor.weight:+.2f}" for factor in risk.factors)]


def _of_sense(sense: Rationality, decided: str) -> list[str]:
    return [f"rationality {sense.score:.2f}", *sense.reasons, decided]


def _mapping(given: object) -> Mapping[str, object]:
    """The tool's input, whose type is the model's word and no more."""
    return given if isinstance(given, Mapping) else {}


def _malformed(said: str) -> Review:
    return Review(Decision.BLOCK, 1.0, 0.0, Severity.MEDIUM, said, "tools.malformed")
