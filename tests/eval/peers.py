"""What peers' published rules do, in their naive form, on the same observations: for comparison only.

Each is the rule alone, without the guards that some of them put around it.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence

from monitors.contract.observations import Observation, ToolReturned
from monitors.signals.shared import Fingerprint, SharedSignals

History = Sequence[tuple[ToolReturned, Fingerprint]]
Rule = Callable[[History], bool]

WINDOW = 32


def _same(values: Sequence[Hashable], times: int) -> bool:
    return len(values) >= times and len(set(values[-times:])) == 1


def identical_calls(times: int) -> Rule:
    """The same call so many times in a row, whatever it gave."""
    return lambda history: _same([key.call for _, key in history], times)


def identical_steps(times: int) -> Rule:
    """The same call and result so many times in a row."""
    return lambda history: _same([key for _, key in history], times)


def same_tool(times: int) -> Rule:
    """The same tool so many times in a row."""
    return lambda history: _same([step.tool for step, _ in history], times)


def failures_in_a_row(times: int) -> Rule:
    """So many failed calls in a row, of any kind."""
    return lambda history: len(history) >= times and all(step.failed for step, _ in history[-times:])


def same_failure(times: int) -> Rule:
    """The same tool failing with the same text so many times in a row."""
    return lambda history: (
        len(history) >= times
        and all(step.failed for step, _ in history[-times:])
        and _same([(step.tool, step.text) for step, _ in history], times)
    )


def same_output(times: int) -> Rule:
    """The same tool giving the same text so many times in a row, whatever it was asked."""
    return lambda history: _same([(step.tool, step.text) for step, _ in history], times)


def cycles(longest: int, times: int) -> Rule:
    """Cycles of calls, whatever they gave."""

    def rule(history: History) -> bool:
        calls = [key.call for _, key in history]
        return any(
            len(calls) >= period * times
            and all(calls[-i] == calls[-i - period] for i in range(1, period * (times - 1) + 1))
            for period in range(1, longest + 1)
        )

    return rule


RULES: dict[str, Rule] = {
    "3 identical calls (Cline soft, opencode)": identical_calls(3),
    "4 identical calls (Roo Code)": identical_calls(4),
    "4 identical calls and results (OpenHands)": identical_steps(4),
    "cycles of 1-5 calls, 5 times (gemini-cli)": cycles(5, 5),
    "cycles of 2-6 calls, 3 times (senpi)": cycles(6, 3),
    "same tool, same output, 6 times (stella)": same_output(6),
    "same error text, 3 times": same_failure(3),
    "3 failed calls in a row": failures_in_a_row(3),
    "same tool, 15 times": same_tool(15),
}


class Peers:
    """Runs every rule over one session and remembers where each first spoke, and each time it began to."""

    def __init__(self) -> None:
        self.spoke: dict[str, list[int]] = {name: [] for name in RULES}
        self._facts = SharedSignals()
        self._history: deque[tuple[ToolReturned, Fingerprint]] = deque(maxlen=WINDOW)
        self._speaking: set[str] = set()

    def see(self, observation: Observation) -> None:
        """Take in an observation."""
        if not isinstance(observation, ToolReturned):
            return
        self._history.append((observation, self._facts.of(observation)))
        history = list(self._history)
        for name, rule in RULES.items():
            if not rule(history):
                self._speaking.discard(name)
            elif name not in self._speaking:
                self._speaking.add(name)
                self.spoke[name].append(observation.seq)
