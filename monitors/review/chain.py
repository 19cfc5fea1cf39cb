"""Reviewers behind one another, and what counts where one of them raises."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
from monitors.contract.errors import ChaperonError
from monitors.contract.words import Decision, Severity
from monitors.review.rules.findings import Finding
from monitors.review.verdict.risk import Risk, RiskCalculator


def safe_review(reviewer: Reviewer, action: Action, context: ReviewContext, name: str = "") -> Review:
    """The review, or, where the reviewer raises or answers with something else, a block that names it."""
    name = name or type(reviewer).__name__
    try:
        review = reviewer.review(action, context)
    except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever a plugin raises, the answer is a block
        return _failed(name, f"raised {type(error).__name__}: {str(error)[:300]}")
    answer: object = review
    if not isinstance(answer, Review):
        return _failed(name, f"answered with {type(answer).__name__}, where a review belongs")
    if isinstance(answer.updated_input, Mapping) != (answer.decision is Decision.MODIFY):
        return _failed(name, f"decided {answer.decision!r}, and an input to run instead belongs to modify alone")
    return answer


def _failed(name: str, what: str) -> Review:
    return Review(
        Decision.BLOCK,
        1.0,
        0.0,
        Severity.HIGH,
        f"The reviewer `{name}` {what}. Nothing runs unreviewed: the call was blocked. Mend or remove that reviewer.",
        f"reviewer.failed:{name}",
    )


class Chain:
    """Several reviewers as one: the strictest answer counts, and one that raises is a block."""

    def __init__(self, reviewers: Sequence[tuple[str, Reviewer]]) -> None:
        self._reviewers = tuple(reviewers)

    def review(self, action: Action, context: ReviewContext) -> Review:
        """Ask each in turn; of equally strict answers the first counts, and any may ask for a stop.

        A changed input is reviewed by all of them again: it runs only if none blocks or changes it.
        """
        found = self._strictest(action, context)
        if found.updated_input is None:
            return found
        again = self._strictest(replace(action, input=found.updated_input), context)
        return found if _STRICT[again.decision] <= _STRICT[Decision.WARN] else _refused(again)

    def _strictest(self, action: Action, context: ReviewContext) -> Review:
        answers = [safe_review(reviewer, action, context, name) for name, reviewer in self._reviewers]
        if not answers:
            return _failed("none", "is not there: no reviewer is configured")
        return max(answers, key=lambda answer: (answer.stop, _STRICT[answer.decision], answer.risk))


def _refused(again: Review) -> Review:
    """The block for a call whose changed form is itself not to run."""
    reasoning = f"{again.reasoning} That is said of what would have run instead of your call, so neither was run."
    return replace(again, decision=Decision.BLOCK, updated_input=None, reasoning=reasoning)


_STRICT = {Decision.ALLOW: 0, Decision.WARN: 1, Decision.MODIFY: 2, Decision.BLOCK: 3}


class RiskError(ChaperonError):
    """A risk calculator failed, so the risk is not known; the caller of the review blocks the call."""


class NamedRisk:
    """A risk calculator of a plugin: its errors are reported with its name.

    Args:
        name: Where it comes from.
        calculator: Does the weighing.
    """

    def __init__(self, name: str, calculator: RiskCalculator) -> None:
        self._name = name
        self._calculator = calculator

    def score(self, findings: Sequence[Finding], context: ReviewContext, *, strict: bool) -> Risk:
        """Weigh what was found.

        Raises:
            RiskError: The calculator raised, or did not answer with a risk from 0 to 1.
        """
        try:
            risk: object = self._calculator.score(findings, context, strict=strict)
        except (Exception, SystemExit) as error:
            raise RiskError(f"The risk calculator `{self._name}` raised {type(error).__name__}: {error}") from error
        if not isinstance(risk, Risk) or not 0.0 <= risk.score <= 1.0:
            raise RiskError(
                f"The risk calculator `{self._name}` answered {risk!r:.100}, where a risk from 0 to 1 belongs"
            )
        return risk
