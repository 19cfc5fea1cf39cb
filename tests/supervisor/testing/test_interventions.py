"""The built-in interventions and strategies, and the worked example, under the contract of plugins."""

from typing import Any

import pytest

from interventions import contract
from interventions.choice.strategies.pattern_specific import PatternSpecific
from interventions.choice.strategies.progressive import Progressive
from interventions.contract import Answer, Case, LadderPosition, Past, Plan, Strategy, Unfit
from interventions.kinds.checkpoint_rollback import CheckpointRollback
from interventions.kinds.context_reinforcement import ContextReinforcement
from interventions.kinds.emergency_stop import EmergencyStop
from interventions.kinds.resource_throttling import ResourceThrottling
from interventions.kinds.soft_correction import SoftCorrection
from interventions.settings import InterventionSettings, StrategySettings
from interventions.words import InterventionKind
from supervisor.testing import check_answer, check_strategy
from supervisor.testing.samples import issue
from tests.interventions.runs import REINFORCE, SOFT, Run


def worked_example() -> Answer:
    """The example of the contract's docstring, as it stands there."""
    text = contract.__doc__ or ""
    lines = "\n".join(line.removeprefix("    ") for line in text.splitlines() if line.startswith("    "))
    names: dict[str, Any] = {"InterventionKind": InterventionKind, "Case": Case, "Plan": Plan, "Unfit": Unfit}
    exec(lines, names)
    example: Answer = names["AskForTheLog"]()
    return example


ANSWERS = (
    SoftCorrection(),
    SoftCorrection({"repetitive_errors": ("Attempt {attempt}: {error}\n{sentence}",)}),
    ContextReinforcement(),
    ResourceThrottling(),
    CheckpointRollback(),
    EmergencyStop(),
)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.name)
def test_each_intervention_keeps_to_the_contract(answer: Answer) -> None:
    check_answer(answer)


@pytest.mark.parametrize("strategy", [Progressive(StrategySettings()), PatternSpecific(StrategySettings())])
def test_each_strategy_keeps_to_the_contract(strategy: Strategy) -> None:
    check_strategy(strategy)


class Rude:
    """A plugin that fails in a way of one's choice."""

    name = "rude"
    kind = SOFT
    types = ("repetitive_errors",)

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = 0

    def plan(self, case: Case) -> Plan | Unfit:
        self.asked += 1
        result: Plan | Unfit = self.answer(case)
        return result


def raises(case: Case) -> Plan:
    raise ZeroDivisionError(case.issue.type)


@pytest.mark.parametrize(
    "answer",
    [raises, lambda _: None, lambda _: Plan(""), lambda _: Plan("x" * 9_000), lambda _: "hello"],
    ids=["raises", "nothing", "silent", "too long", "no plan"],
)
def test_a_plugin_that_fails_is_followed_by_the_built_in_answer_and_not_asked_again(answer: Any) -> None:
    rude = Rude(answer)
    run = Run(plugins=(rude,))
    chosen = run.answer(issue())
    assert chosen is not None
    assert (chosen.kind, set(chosen.details["plugins_failed"])) == (SOFT, {"rude"})
    assert "There is repetitive_errors." in chosen.message
    asked = rude.asked
    run.answer(issue(), after=60)
    assert rude.asked == asked


def test_a_plugin_answers_the_types_that_it_names_and_the_choice_says_so() -> None:
    run = Run(plugins=(Rude(lambda _: Plan("[chaperon] my own words")),))
    chosen = run.answer(issue())
    assert chosen is not None
    assert (chosen.message, chosen.details["by"]) == ("[chaperon] my own words", "rude")
    other = Run(plugins=(Rude(raises),)).answer(issue("goal_drift"))
    assert other is not None
    assert "by" not in other.details


def test_the_worked_example_works() -> None:
    example = worked_example()
    check_answer(example)
    chosen = Run(plugins=(example,)).answer(issue(details={"error": "E42"}))
    assert chosen is not None
    assert chosen.message.endswith("show the 20 lines of the log around: E42")


class Always:
    """A strategy of a plugin."""

    name = "always"

    def __init__(self, index: int | None) -> None:
        self.index = index

    def ladder(self, issue: Any) -> tuple[InterventionKind, ...]:  # noqa: ARG002 - the protocol's
        return (REINFORCE,)

    def position(self, ladder: Any, past: Past) -> LadderPosition:  # noqa: ARG002 - the protocol's
        if self.index is None:
            raise ZeroDivisionError("oh")
        return LadderPosition(self.index, "it always says so")


CUSTOM = InterventionSettings(strategy=StrategySettings(type="custom"))


def test_a_custom_strategy_is_asked_where_the_configuration_says_so() -> None:
    assert Run(CUSTOM, strategy=Always(0)).kind(issue()) is REINFORCE


def test_a_custom_strategy_that_raises_is_stood_in_for_and_the_choice_says_so() -> None:
    chosen = Run(CUSTOM, strategy=Always(None)).answer(issue())
    assert chosen is not None
    assert "strategy 'always' failed" in chosen.reason
    assert chosen.details["plugins_failed"] == {"always": "ZeroDivisionError: oh"}
