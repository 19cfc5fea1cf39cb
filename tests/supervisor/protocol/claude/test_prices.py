"""What tokens cost."""

import pytest

from supervisor.protocol.claude.prices import Price, Spent, price_of, reported_use

OWN = Price(input=1.0, output=2.0, cache_write=3.0, cache_read=4.0)


@pytest.mark.parametrize(
    ("model", "input_"),
    [
        ("claude-opus-5-5", 4.0),
        ("claude-opus-4-5-20251101", 5.0),
        ("claude-sonnet-4-6[1m]", 3.0),
        ("claude-haiku-4-5-20251001", 1.0),
        ("claude-opus-9", None),
        ("", None),
    ],
)
def test_a_model_has_its_list_price_whatever_its_date_and_the_size_of_its_context(
    model: str, input_: float | None
) -> None:
    price = price_of(model, {})
    assert (price.input if price else None) == input_


def test_the_users_own_price_comes_first_by_name_or_glob() -> None:
    assert price_of("claude-opus-5-5", {"claude-opus-*": OWN}) is OWN
    assert price_of("proxy/llama", {"proxy/*": OWN}) is OWN
    assert price_of("claude-opus-5-5", {"gpt": OWN}) is not OWN


def test_a_cost_is_that_of_each_kind_of_token() -> None:
    assert OWN.of(Spent(1_000_000, 1_000_000, 1_000_000, 1_000_000)) == 10.0


def test_spending_adds_up_and_an_unknown_cost_counts_as_nothing_beside_a_known_one() -> None:
    both = Spent(1, 2, 3, 4, 0.5) + Spent(1, 1, 1, 1)
    assert both == Spent(2, 3, 4, 5, 0.5)
    assert (both.read, both.tokens) == (9, 14)
    assert both - Spent(2, 3, 4, 5, 0.25) == Spent(cost_usd=0.25)
    assert (Spent() + Spent()).cost_usd is None


def test_all_models_of_a_run_are_told_together() -> None:
    usage = {
        "claude-opus-5-5": {"inputTokens": 10, "outputTokens": 1, "costUSD": 0.2},
        "claude-haiku-4-5": {"cacheReadInputTokens": 5, "cacheCreationInputTokens": 2, "costUSD": 0.1},
    }
    assert reported_use(usage, 0.3, {}) == Spent(10, 2, 5, 1, 0.3)
    assert reported_use(usage, 0.3, {"claude-haiku-*": OWN}) == Spent(10, 2, 5, 1, 0.2 + 26e-6)
