"""What an agent has spent: what the CLI says, and an estimate of what it has not counted yet."""

from typing import Any

import pytest

from supervisor.core.observing.spending import ANSWER_SECONDS, ASK_SECONDS, MOST_UNCOUNTED, START, Questions, Spending
from supervisor.protocol.claude.messages import Assistant, TokenUsage
from supervisor.protocol.claude.prices import Price, Spent

MODEL = "claude-sonnet-4-6"


def message(id_: str, *, read: int = 1_000, cached: int = 0, written: int = 0, model: str = MODEL) -> Assistant:
    return Assistant(id_, [], usage=TokenUsage(read, 1, written, cached), model=model)


def figures(spent: Spent, model: str = MODEL) -> tuple[dict[str, Any], float | None]:
    """What the CLI says of so much."""
    names = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
    counts = (spent.input, spent.cache_write, spent.cache_read, spent.output)
    return {model: {**dict(zip(names, counts, strict=True)), "costUSD": spent.cost_usd}}, spent.cost_usd


def replied(spending: Spending, id_: str, characters: int = 400, **more: Any) -> None:
    said = message(id_, **more)
    spending.reply(said).grows(said.usage, characters)


def test_a_reply_that_the_cli_has_not_counted_is_estimated_by_its_length_and_its_models_price() -> None:
    spending = Spending()
    replied(spending, "m1", 400, read=1_000, written=200, cached=30_000)
    assert spending.total == Spent(1_000, 200, 30_000, 100, round(0.003 + 0.00075 + 0.009 + 0.0015, 9))


def test_the_tokens_of_a_model_without_a_price_are_counted_and_its_cost_is_not_known() -> None:
    spending = Spending()
    replied(spending, "m1", model="somebodys-own")
    assert spending.total == Spent(input=1_000, output=100)


def test_the_users_own_price_counts_instead_of_the_lists_and_of_the_clis() -> None:
    own = Price(input=1_000.0, output=0.0, cache_write=0.0, cache_read=0.0)
    spending = Spending({"claude-*": own})
    replied(spending, "m1")
    assert spending.total.cost_usd == 1.0
    spending.says(*figures(Spent(input=2_000, output=5, cost_usd=0.5)))
    assert spending.total.cost_usd == 2.0


def test_what_the_cli_says_replaces_the_estimate() -> None:
    spending = Spending()
    spending.launched(resumes=False)
    replied(spending, "m1")
    said = Spent(input=1_000, output=4_000, cost_usd=0.063)
    spending.says(*figures(said))
    assert spending.total == said


def test_a_reply_that_is_still_being_written_is_not_among_the_clis_figures_and_stays_estimated() -> None:
    spending = Spending()
    spending.launched(resumes=False)
    replied(spending, "m1", read=1_000)
    replied(spending, "m2", read=3_000)
    said = Spent(input=1_000, output=4_000, cost_usd=0.063)
    spending.says(*figures(said))
    assert spending.total == said + Spent(input=3_000, output=100, cost_usd=0.0105)
    spending.says(*figures(Spent(input=4_000, output=5_000, cost_usd=0.087)))
    assert spending.total.output == 5_000


def test_many_replies_that_were_never_counted_are_all_in_the_total() -> None:
    spending = Spending()
    for number in range(3 * MOST_UNCOUNTED):
        replied(spending, f"m{number}", read=10)
    assert spending.total.tokens == 3 * MOST_UNCOUNTED * 110


FIRST = Spent(input=1_000, output=4_000, cost_usd=0.063)
SECOND = Spent(input=2_000, output=1_000, cost_usd=0.021)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("asked", [True, False])
def test_launches_are_added_up_whether_the_clis_figures_go_on_from_those_before_or_begin_anew(
    kept: bool, asked: bool
) -> None:
    spending = Spending()
    spending.launched(resumes=False)
    replied(spending, "m1")
    spending.says(*figures(FIRST))
    spending.launched(resumes=True)
    begins = FIRST if kept else Spent()
    if asked:
        spending.starts_at(*figures(begins))
    replied(spending, "m2", read=2_000)
    spending.says(*figures(begins + SECOND))
    assert spending.total == FIRST + SECOND


def test_what_a_resumed_session_cost_before_the_agent_is_not_the_agents() -> None:
    spending = Spending()
    spending.launched(resumes=True)
    spending.starts_at(*figures(FIRST))
    replied(spending, "m1", read=2_000)
    spending.says(*figures(FIRST + SECOND))
    assert spending.total == SECOND


def test_where_figures_begin_is_not_taken_from_an_answer_that_came_after_a_reply() -> None:
    spending = Spending()
    spending.launched(resumes=True)
    replied(spending, "m1")
    spending.starts_at(*figures(FIRST))
    spending.says(*figures(FIRST))
    assert spending.total == FIRST


def test_figures_that_fall_are_those_of_a_count_that_began_anew() -> None:
    spending = Spending()
    spending.launched(resumes=False)
    spending.says(*figures(FIRST + SECOND))
    spending.says(*figures(SECOND))
    assert spending.total == FIRST + SECOND + SECOND


def test_a_cost_without_tokens_leaves_the_tokens_that_the_frames_told() -> None:
    spending = Spending()
    spending.launched(resumes=False)
    replied(spending, "m1")
    spending.says(None, 0.25)
    assert spending.total == Spent(input=1_000, output=100, cost_usd=0.25)
    spending.says(None, 0.5)
    assert spending.total.cost_usd == 0.5


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (None, None),
        ("much", "all"),
        ({}, True),
        ({MODEL: "x"}, float("nan")),
        ([1], -1.0),
        ({MODEL: {"inputTokens": -5, "outputTokens": "many", "costUSD": []}}, None),
        ({MODEL: {"inputTokens": 10**400}}, float("inf")),
    ],
)
def test_figures_that_are_none_change_nothing(usage: object, cost: object) -> None:
    spending = Spending()
    replied(spending, "m1")
    before = spending.total
    spending.says(usage, cost)
    assert spending.total.cost_usd == before.cost_usd
    assert spending.total.tokens == before.tokens


def test_the_next_call_is_given_all_of_the_last_one_from_the_cache_if_one_is_in_use() -> None:
    spending = Spending()
    assert spending.next == Spent()
    replied(spending, "m1", 400, read=1_000)
    assert spending.next == Spent(input=1_100, output=100, cost_usd=0.0048)
    replied(spending, "m2", 400, read=0, cached=1_000)
    assert spending.next == Spent(cache_read=1_100, output=100, cost_usd=0.00183)


def test_a_question_is_due_after_a_while_and_near_a_limit_at_once_but_one_at_a_time() -> None:
    questions = Questions()
    assert questions.launched(100.0, resumes=False) == ""
    assert questions.due(101.0, near=False) == ""
    first = questions.due(101.0, near=True)
    assert questions.due(102.0, near=True) == ""
    assert questions.answered(first, well=True)
    assert questions.due(103.0, near=False) == ""
    assert questions.due(101.0 + ASK_SECONDS, near=False)
    assert questions.due(101.0 + ASK_SECONDS + ANSWER_SECONDS, near=False), "one that is never answered is asked again"


def test_a_launch_that_resumes_begins_with_a_question_and_an_answer_to_another_counts_for_nothing() -> None:
    questions = Questions()
    assert questions.launched(100.0, resumes=True) == START
    assert not questions.answered("usage-9", well=True)
    assert questions.answered(START, well=True)
    assert not questions.answered(START, well=True)
