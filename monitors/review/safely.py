"""Reviewers behind one another, and what counts where one of them raises."""

from collections.abc import Sequence

from supervisor.protocol.actions import Action, Context, Review, Reviewer
from supervisor.protocol.words import Decision, Severity


def safe_review(reviewer: Reviewer, action: Action, context: Context, name: str = "") -> Review:
    """The review, or, where the reviewer raises or answers with something else, a block that names it."""
    name = name or type(reviewer).__name__
    try:
        review = reviewer.review(action, context)
    except Exception as error:  # noqa: BLE001 — whatever a plugin raises, the answer is a block
        return _failed(name, f"raised {type(error).__name__}: {str(error)[:300]}")
    answer: object = review
    return (
        review
        if isinstance(answer, Review)
        else _failed(name, f"answered with {type(answer).__name__}, where a review belongs")
    )


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

    def review(self, action: Action, context: Context) -> Review:
        """Ask each in turn; of equally strict answers the first counts, and any may ask for a stop."""
        answers = [safe_review(reviewer, action, context, name) for name, reviewer in self._reviewers]
        if not answers:
            return _failed("none", "is not there: no reviewer is configured")
        return max(answers, key=lambda answer: (answer.stop, _STRICT[answer.decision], answer.risk))


_STRICT = {Decision.ALLOW: 0, Decision.WARN: 1, Decision.MODIFY: 2, Decision.BLOCK: 3}
