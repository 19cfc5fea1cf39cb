"""The reviewer: an action and its context in, a review out. Pure, bounded, and it raises for no input."""

from collections.abc import Mapping, Sequence

from monitors.review import levels, tools
from monitors.review.decide import decision
from monitors.review.facts import Facts, NoFacts
from monitors.review.findings import Finding, effect, severity_of
from monitors.review.judge import judge
from monitors.review.knowledge.book import PROGRAMS, RULES
from monitors.review.languages.interpreters import code_uses
from monitors.review.languages.uses import MAX_CODE, Uses
from monitors.review.places import TMPDIR, Places
from monitors.review.rewrites import rewritten
from monitors.review.risk import Risk, RiskCalculator, StandardRisk
from monitors.review.rules import RuleBook
from monitors.review.scene import Scene
from monitors.review.settings import ReviewSettings
from monitors.review.shell.invocation import Invocation
from monitors.review.shell.launch import LAUNCHER_NAMES
from monitors.review.shell.walk import Walk
from supervisor.protocol.actions import Action, Context, Review, Reviewer
from supervisor.protocol.words import Decision, Severity

MAX_EFFECTS = 50
"""Most side effects listed; the worst come first."""


def make_reviewer(
    settings: ReviewSettings | None = None, facts: Facts | None = None, risk: RiskCalculator | None = None
) -> Reviewer:
    """Make the reviewer that the gate, the command line and replays all use.

    Args:
        settings: what a person has set; the defaults where None.
        facts: the file system and git, as `supervisor.runtime.facts` looks them up; nothing is known where None.
        risk: another way to weigh findings, from a plugin.
    """
    return StepReviewer(settings or ReviewSettings(), facts or NoFacts(), risk or StandardRisk())


class StepReviewer:
    """Reviews every tool call by what it would do."""

    def __init__(self, settings: ReviewSettings, facts: Facts, risk: RiskCalculator) -> None:
        self._settings = settings
        self._facts = facts
        self._risk = risk
        self._strict = settings.profile == "strict"
        rules = [rule for rule in (*settings.rules, *RULES) if rule.name not in settings.disabled]
        self._book = RuleBook(PROGRAMS, rules)

    def review(self, action: Action, context: Context) -> Review:
        """Say what the action would do and whether it may run."""
        scene = self._scene(action, context)
        given = _mapping(action.input)
        command = given.get("command") if action.tool == "Bash" else None
        if action.tool != "Bash":
            return self._reviewed(list(tools.findings(scene, action.tool, given)), scene, context)
        if not isinstance(command, str):
            return self._malformed(given)
        found, seen = self._command(command, scene, context)
        review = self._reviewed(found, scene, context)
        return (
            self._modified(review, command, given, action, context, seen)
            if review.decision is Decision.BLOCK
            else review
        )

    def _scene(self, action: Action, context: Context) -> Scene:
        places = Places(action, context, self._facts, strict=self._strict, writable=self._settings.writable)
        return Scene(self._settings, places, self._facts, self._book, LAUNCHER_NAMES)

    def _command(
        self, command: str, scene: Scene, context: Context
    ) -> tuple[list[Finding], list[tuple[Finding, Invocation]]]:
        variables = dict(context.environment)
        variables.setdefault("HOME", scene.places.home or "~")
        variables.setdefault("PWD", scene.places.cwd)
        variables.setdefault("TMPDIR", TMPDIR)
        uses: dict[int, Uses] = {}

        def code(invocation: Invocation) -> list[str]:
            found = code_uses(invocation, lambda where, word: self._file(walk, scene, where, word))
            if found is not None:
                uses[id(invocation)] = found
            return found.scripts if found else []

        walk = Walk(cwd=scene.places.cwd, variables=variables, code=code)
        walk.script(command.replace("\0", ""))
        scene.files = walk.files
        seen = [(found, one) for one in walk.invocations for found in judge(scene, one, uses.get(id(one)))]
        found = [finding for finding, _ in seen]
        if walk.too_much:
            found.append(
                Finding(
                    "shell.too-much",
                    levels.HARM,
                    f"is more than a review goes through: {walk.too_much}",
                    "Split it, or write it to a file with Write first.",
                )
            )
        if walk.unclear:
            found.append(
                Finding(
                    "shell.not-understood",
                    levels.CARE,
                    f"is not proper shell: it has {walk.unclear[0]}",
                    "Mend the quoting, or write the script to a file.",
                    effect=effect("process", "runs a command that was not understood"),
                )
            )
        if walk.bomb:
            found.append(
                Finding("shell.fork-bomb", levels.DOOM, f"starts itself over and over: {walk.bomb}", "Do not run it.")
            )
        return found, seen

    def _file(self, walk: Walk, scene: Scene, invocation: Invocation, word: str) -> str | None:
        """The text of a script file: as this action writes it, or as it stands there now."""
        path = scene.places.absolute(word, invocation.cwd)
        known = walk.files.get(path)
        return known if known is not None else self._facts.text(path, MAX_CODE)

    def _reviewed(self, found: Sequence[Finding], scene: Scene, context: Context) -> Review:
        risk = self._risk.score(found, context, strict=self._strict)
        rationality = 0.8
        decided = decision(risk.score, rationality, self._settings)
        stop = any(finding.stop for finding in found)
        if stop:
            decided = Decision.BLOCK
        effects = sorted((finding.effect for finding in found if finding.effect), key=lambda made: -made.severity.rank)
        files = any(finding.undo == "files" for finding in found) and not self._strict
        return Review(
            decision=decided,
            risk=risk.score,
            rationality=rationality,
            severity=effects[0].severity if effects else severity_of(risk.score),
            reasoning=_reasoning(decided, risk),
            rule=risk.worst.rule if risk.worst and decided is not Decision.ALLOW else "",
            side_effects=tuple(dict.fromkeys(effects))[:MAX_EFFECTS],
            touches=tuple(scene.touches.values()),
            risk_factors=risk.factors,
            stop=stop,
            checkpoint_first=files and not context.captured,
        )

    def _modified(
        self,
        review: Review,
        command: str,
        given: Mapping[str, object],
        action: Action,
        context: Context,
        seen: list[tuple[Finding, Invocation]],
    ) -> Review:
        """The same action made harmless, where one rewrite does it and is itself allowed."""
        for finding, invocation in seen:
            if finding.rule != review.rule or not finding.rewrite:
                continue
            changed = rewritten(finding.rewrite, command, invocation)
            if changed is None or changed == command:
                return review
            again = Action(
                action.tool,
                {**given, "command": changed},
                action.cwd,
                action.workspace,
                action.tool_use_id,
                action.subagent,
            )
            if self.review(again, context).decision is not Decision.ALLOW:
                return review
            return Review(
                Decision.MODIFY, review.risk, review.rationality, review.severity,
                f"`{command[:200]}` {finding.why}. It runs as `{changed[:400]}` instead.", review.rule, review.side_effects, review.touches,
                again.input, review.risk_factors,
            )  # fmt: skip
        return review

    def _malformed(self, given: Mapping[str, object]) -> Review:
        kind = type(given.get("command")).__name__ if "command" in given else "nothing"
        return Review(
            Decision.BLOCK,
            1.0,
            0.0,
            Severity.MEDIUM,
            f"Bash was given {kind} as its command, where a text belongs. Give the command as a text.",
            "tools.malformed",
        )


def _mapping(given: object) -> Mapping[str, object]:
    """The tool's input, whose type is the model's word and no more."""
    return given if isinstance(given, Mapping) else {}


def _reasoning(decided: Decision, risk: Risk) -> str:
    worst = risk.worst
    if worst is None or not worst.why or decided is Decision.ALLOW:
        return "Nothing speaks against it."
    return (
        f"This {worst.why}."
        + (f" {worst.instead}" if worst.instead else "")
        + (f" For example: {worst.alternative}" if worst.alternative else "")
    )
