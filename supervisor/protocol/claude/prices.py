"""Tokens and their cost: the words of spending, and a list of prices for replies that the CLI has not counted yet."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens by kind, and their cost."""

    input: int = 0
    """Fresh ones, read."""
    cache_write: int = 0
    """Read, and written into the cache."""
    cache_read: int = 0
    """Read from the cache."""
    output: int = 0
    cost_usd: float | None = None
    """In US dollars; None if nothing is known of it."""

    def __add__(self, other: "Spent") -> "Spent":
        """Return both together; an unknown cost counts as nothing beside a known one."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        return Spent(
            self.input + other.input,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            self.output + other.output,
            _sum(self.cost_usd, other.cost_usd, 1),
        )

    def __sub__(self, other: "Spent") -> "Spent":
        """Return what is left without the other."""
        if other is NOTHING:
            return self
        return Spent(
            self.input - other.input,
            self.cache_write - other.cache_write,
            self.cache_read - other.cache_read,
            self.output - other.output,
            _sum(self.cost_usd, other.cost_usd, -1),
        )

    @property
    def read(self) -> int:
        """All that models were given."""
        return self.input + self.cache_write + self.cache_read

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.read + self.output


NOTHING = Spent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a model, in US dollars for a million tokens."""

    input: float
    output: float
    cache_write: float
    cache_read: float

    def of(self, tokens: Spent) -> float:
        """Return the cost of so many tokens."""
        return self.cost(tokens.input, tokens.cache_write, tokens.cache_read, tokens.output)

    def cost(self, fresh: int, written: int, read: int, output: int) -> float:
        """Return the cost of tokens by kind, in the order of the fields of `Spent`."""
        return (
            fresh * self.input + output * self.output + written * self.cache_write + read * self.cache_read
        ) / MILLION


Prices = Mapping[str, Price]
"""By the model's name, or a glob of names."""


def _listed(input_: float, cache_read_share: float) -> Price:
    """Return a list price: output costs five times the input, and a cache write a quarter more than it."""
    return Price(
        input=input_, output=5 * input_, cache_write=1.25 * input_, cache_read=round(cache_read_share * input_, 4)
    )


LIST: Prices = {
    "claude-opus-5-5": _listed(4.0, 0.05),
    "claude-opus-5": _listed(5.0, 0.1),
    "claude-opus-4-[5678]": _listed(5.0, 0.1),
    "claude-sonnet-5-5": _listed(2.0, 0.05),
    "claude-sonnet-5": _listed(2.0, 0.1),
    "claude-sonnet-4-[56]": _listed(3.0, 0.1),
    "claude-haiku-5-5": _listed(0.1, 0.1),
    "claude-haiku-4-5": _listed(1.0, 0.1),
    "claude-fable-5-2": _listed(8.0, 0.025),
    "claude-fable-5-1": _listed(10.0, 0.025),
    "claude-fable-5": _listed(10.0, 0.1),
    "claude-mythos-5-2": _listed(8.0, 0.025),
    "claude-mythos-5-1": _listed(10.0, 0.025),
    "claude-mythos-5": _listed(10.0, 0.1),
    "claude-3-7-sonnet": _listed(3.0, 0.1),
    "claude-3-5-haiku": _listed(0.8, 0.1),
}
"""Prices of CLI 2.1.329, measured on 22 November 2026: for each model, 100,000 tokens of each kind were served to
it, and its figures read. They are used for replies that the CLI has not counted yet, and for versions without such
figures."""

_DATED = re.compile(r"(-\d{8})?(\[[^]]*\])?$")
"""Endings of a model's name that change no price: a date, and the size of its context."""


def price_of(model: str, own: Prices) -> Price | None:
    """Return the price of a model; None if it is not known.

    The user's own price counts first, by exact name or glob, then the list's.
    """
    if found := own_price(model, own):
        return found
    return _list_price(model)


@lru_cache(maxsize=100)
def _list_price(model: str) -> Price | None:
    plain = _DATED.sub("", model)
    return next((price for name, price in LIST.items() if fnmatchcase(plain, name)), None)


def own_price(model: str, own: Prices) -> Price | None:
    """Return the user's own price of a model; None if there is none."""
    if not own:
        return None
    plain = _DATED.sub("", model)
    names = (name for name in own if fnmatchcase(model, name) or fnmatchcase(plain, name))
    return next((own[name] for name in names), None)


def reported_use(usage: object, total_cost_usd: object, own: Prices) -> Spent | None:
    """Return what the CLI says that its process has used, by model; None if it says nothing that can be read.

    Args:
        usage: The figures by model: `modelUsage` of a result, or `model_usage` of an answer to `get_usage`.
        total_cost_usd: The cost of all models.
        own: The user's own prices, which count instead of the CLI's cost.
    """
    models = (
        {str(model): each for model, each in usage.items() if isinstance(each, Mapping)}
        if isinstance(usage, Mapping)
        else {}
    )
    cost = _number(total_cost_usd)
    if not models:
        return None if cost is None else Spent(cost_usd=cost)
    spent = NOTHING
    for model, figures in models.items():
        tokens = _tokens(figures)
        spent += tokens
        if (price := own_price(model, own)) and cost is not None:
            cost += price.of(tokens) - (_number(figures.get("costUSD")) or 0.0)
    return Spent(
        spent.input,
        spent.cache_write,
        spent.cache_read,
        spent.output,
        None if cost is None else round(max(0.0, cost), 9),
    )


def _tokens(figures: Mapping[str, Any]) -> Spent:
    names = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
    return Spent(*(round(_number(figures.get(name)) or 0) for name in names))


def _number(value: object) -> float | None:
    """Return a figure that can be one: the CLI's line is not to be trusted to hold some."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
        return None
    return value


def _sum(mine: float | None, other: float | None, sign: int) -> float | None:
    if mine is None and other is None:
        return None
    return round((mine or 0.0) + sign * (other or 0.0), 9)
