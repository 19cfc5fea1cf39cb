"""Spending of an agent, over all its launches: the CLI's report, and an estimate for replies not counted yet.

The CLI counts a reply when its stream ends, which is after the gate's requests for the reply's calls (measured,
2.1.329). Its frames carry the count from before the reply was written, so that the input is exact and the output is 1.
It reports its figures at the end of a turn, and on request (`get_usage`). They are those of its process, and after an
orderly end those of the processes before it, which a resumed session continues.

Partial messages (`--include-partial-messages`) are not used: the count of a reply comes with them after the gate's
request too, those of subagents never, and each block costs three lines more and one for every few words.
"""

from collections import deque
from dataclasses import dataclass

from supervisor.protocol.claude.messages import Assistant, TokenUsage
from supervisor.protocol.claude.prices import NOTHING, Price, Prices, Spent, price_of, reported_use

CHARACTERS_A_TOKEN = 4
"""The usual ratio for English and code, for replies whose frame carries the count from before they were written."""

MOST_UNCOUNTED = 8
"""Replies whose estimates are kept apart. A CLI that reports has counted all but those in flight, its own and its
subagents'."""


@dataclass(slots=True)
class ModelReply:
    """One reply of a model, as its frames report it: one content block each."""

    id: str
    usage: TokenUsage
    price: Price | None
    characters: int = 0
    told: bool = False
    """Whether its tokens were told of as an observation."""
    spent: Spent = NOTHING
    """The tokens of the reply so far, and their cost if there is a price."""

    def __post_init__(self) -> None:
        """Price what it was given."""
        self.grows(self.usage, 0)

    def grows(self, usage: TokenUsage, characters: int) -> None:
        """Take in another frame of it: its usage, of which the largest counts, and how much was written."""
        if usage.output_tokens > self.usage.output_tokens:
            self.usage = usage
        self.characters += characters
        counted = self.usage
        self.spent = _priced(
            self.price,
            counted.input_tokens,
            counted.cache_creation_input_tokens,
            counted.cache_read_input_tokens,
            self.output,
        )

    @property
    def output(self) -> int:
        """Tokens written so far, estimated unless the frames tell a larger count."""
        return max(self.usage.output_tokens, self.characters // CHARACTERS_A_TOKEN)

    @property
    def next(self) -> Spent:
        """Return an estimate of the call that follows this reply: it gets all of this one again, and answers as much.

        Earlier input is read from the cache, if one is in use.
        """
        context = self.spent.tokens
        cached = self.usage.cache_read_input_tokens + self.usage.cache_creation_input_tokens > 0
        fresh, read = (0, context) if cached else (context, 0)
        return _priced(self.price, fresh, 0, read, self.output)


class Spending:
    """The tokens and the cost of one agent. A fold over what its CLI prints.

    Args:
        prices: The user's own prices.
    """

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices or {}
        self._before = NOTHING
        """Of the launches that ended."""
        self._start: Spent | None = None
        """The CLI's figures at the start of this launch; None if it has not reported them."""
        self._said = NOTHING
        """Of this launch, as the CLI said last."""
        self._older = NOTHING
        """Replies since then, of which none is in flight any more."""
        self._since: deque[ModelReply] = deque()
        """The latest replies since then, oldest first."""
        self._read = 0
        """Input tokens of this launch's replies, as far as the CLI's figures and frames show."""
        self._sums: list[tuple[Spent, Spent, Spent]] = []
        """The two terms and the sum of each addition of the total, as it was asked for last."""
        self.last: ModelReply | None = None
        """The latest reply of the agent itself or of a subagent."""

    @property
    def total(self) -> Spent:
        """All that was spent, the estimate of what the CLI has not counted included."""
        terms = [term for term in (self._said, self._older) if term is not NOTHING]
        terms += [reply.spent for reply in self._since]
        total = self._before
        for at, term in enumerate(terms):
            known = self._sums[at] if at < len(self._sums) else None
            if known is None or known[0] is not total or known[1] is not term:
                del self._sums[at:]
                known = (total, term, total + term)
                self._sums.append(known)
            total = known[2]
        return total

    @property
    def next(self) -> Spent:
        """An estimate of the model's next call; nothing before the first reply."""
        return self.last.next if self.last else NOTHING

    def reply(self, message: Assistant) -> ModelReply:
        """Begin to count a reply."""
        reply = ModelReply(message.message_id, message.usage, price_of(message.model, self._prices))
        self._since.append(reply)
        self._read += reply.spent.read
        self.last = reply
        if len(self._since) > MOST_UNCOUNTED:
            self._older += self._since.popleft().spent
        return reply

    def says(self, usage: object, total_cost_usd: object) -> bool:
        """Take in figures of the CLI; whether there were some.

        Args:
            usage: What it says of each model.
            total_cost_usd: What it says of all.
        """
        figures = reported_use(usage, total_cost_usd, self._prices)
        if figures is None or figures == NOTHING:
            return False
        if figures.tokens == 0 and figures.cost_usd:
            self._costs(figures)
        else:
            self._counts(figures)
        return True

    def starts_at(self, usage: object, total_cost_usd: object) -> None:
        """Take in the figures with which the CLI of this launch began; nothing happens once it has replied."""
        if not self._read:
            self._start = reported_use(usage, total_cost_usd, self._prices) or NOTHING

    def launched(self, *, resumes: bool) -> None:
        """Begin with another process of the CLI.

        Args:
            resumes: Whether it goes on in a session, of which its figures may begin with what was spent before.
        """
        self._before = self.total
        self._start, self._said, self._older, self._read = None if resumes else NOTHING, NOTHING, NOTHING, 0
        self._since.clear()

    def _counts(self, figures: Spent) -> None:
        start = self._start if self._start is not None else self._guessed_start(figures)
        said = figures - start
        if said.read < self._said.read:  # it counts anew
            self._before += self._said
            start, said = NOTHING, figures
        self._start, self._said, self._older = start, said, NOTHING
        # A reply in flight is not among the CLI's figures: they lack what it was given.
        lacking, kept = self._read - said.read, deque[ModelReply]()
        while self._since and 0 < self._since[-1].spent.read <= lacking:
            kept.appendleft(self._since.pop())
            lacking -= kept[0].spent.read
        self._since = kept
        self._read = said.read + sum(reply.spent.read for reply in kept)

    def _costs(self, figures: Spent) -> None:
        """Take in a cost without tokens, as older versions and some proxies report it.

        The tokens stay those of the frames.
        """
        start = (self._start or self._guessed_start(figures)).cost_usd or 0.0
        tokens = self.total - self._before
        self._said = Spent(
            tokens.input,
            tokens.cache_write,
            tokens.cache_read,
            tokens.output,
            max(0.0, (figures.cost_usd or 0.0) - start),
        )
        self._start, self._older = self._start or Spent(cost_usd=start), NOTHING
        self._since.clear()

    def _guessed_start(self, figures: Spent) -> Spent:
        """Guess the first figures of a CLI that did not report them.

        They include the launches before if they are as large.
        """
        held = self._before.cost_usd is not None and (figures.cost_usd or 0.0) >= self._before.cost_usd > 0
        return self._before if held and figures.read >= self._before.read else NOTHING


ASK_SECONDS = 10.0
"""Least time between two queries of the CLI's figures, unless a limit is near. An answer is a line of 0.8 kB, and
takes the CLI 2 to 5 ms on an idle machine."""

ANSWER_SECONDS = 60.0
"""After how long a question that was not answered is given up, and asked again."""

NEAR = 0.5
"""Share of a limit from which on the CLI is queried after each call: the output of later replies is only estimated."""

START = "usage-start"
"""The id of the query before the first message to a CLI that resumes a session."""


class Questions:
    """Queries of the CLI's usage, at most one at a time. A fold over queries and answers."""

    def __init__(self) -> None:
        self._number = 0
        self._open = ""
        self._asked_at = 0.0
        self._refused = False
        """Whether this version of the CLI does not know the question."""

    @property
    def open(self) -> str:
        """The id of the question that was not answered yet; empty if there is none."""
        return self._open

    def launched(self, mono: float, *, resumes: bool) -> str:
        """Begin with another process of the CLI.

        Args:
            mono: Now, in seconds on the clock that never goes back.
            resumes: Whether it goes on in a session, so that its first figures are queried.

        Returns:
            The id of the query before its first message; empty if none is due.
        """
        self._number, self._open, self._asked_at = 0, START if resumes else "", mono
        return self._open

    def due(self, mono: float, *, near: bool) -> str:
        """Return the id of the question to ask now; empty if none is due.

        Args:
            mono: Now, in seconds on the clock that never goes back.
            near: Whether a limit is near.
        """
        waited = mono - self._asked_at
        if self._refused or waited < (ANSWER_SECONDS if self._open else 0.0 if near else ASK_SECONDS):
            return ""
        self._number += 1
        self._open, self._asked_at = f"usage-{self._number}", mono
        return self._open

    def answered(self, id_: str, *, well: bool) -> bool:
        """Note the answer to a question; whether it is one to the question that is open."""
        if not self._open or id_ != self._open:
            return False
        self._open = ""
        self._refused = self._refused or not well
        return well


def _priced(price: Price | None, fresh: int, written: int, read: int, output: int) -> Spent:
    cost = None if price is None else price.cost(fresh, written, read, output)
    return Spent(fresh, written, read, output, cost)
