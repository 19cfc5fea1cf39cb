import pytest
from pydantic import ValidationError

from supervisor.config.sections.review import ReviewerSection, RuleSection

RULE = {"name": "own.x", "decision": "block", "reason": "Ask first."}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"decision": "modify"}, "cannot decide `modify`"),
        ({"match": "("}, "no regular expression"),
        ({"name": "Own X"}, "match pattern"),
        ({"reason": ""}, "at least 1 character"),
    ],
)
def test_a_rule_that_cannot_decide_is_refused(change: dict[str, str], says: str) -> None:
    assert RuleSection.model_validate(RULE).tool == "*"
    with pytest.raises(ValidationError) as caught:
        RuleSection.model_validate({**RULE, **change})
    assert says in str(caught.value)


def test_a_risk_is_a_share() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        ReviewerSection.model_validate({"risk_threshold": 1.5})
