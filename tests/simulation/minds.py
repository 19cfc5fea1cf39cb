"""Minds of simulated agents: what each does next, well or badly, in every way that the detectors know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True)
class Turn:
    """What a mind does next: one tool call with what it would give, or words, or the end of the turn."""

    tool: str = ""
    input: Mapping[str, Any] | None = None
    result: str = "ok"
    failed: bool = False
    says: str = ""
    ends: bool = False
    """Whether it hands the word back; what it says then is the error that it ends in."""


Mood = Callable[[Random, int], Turn]
"""Makes the n-th turn."""


def works(rng: Random, n: int) -> Turn:
    file = f"src/parser/part{n % 17}.py"
    return rng.choice(
        [
            Turn("Read", {"file_path": file}, f"def part{n}(): ..."),
            Turn("Edit", {"file_path": file, "old_string": f"a{n}", "new_string": f"b{n}"}, "The file was updated."),
            Turn("Bash", {"command": f"pytest tests/test_part{n}.py"}, f"{n} passed in 0.{n}s"),
            Turn("Grep", {"pattern": f"name{n}", "path": "src"}, f"src/x.py:{n}: name{n}"),
        ]
    )


def errs(_: Random, n: int) -> Turn:
    return Turn("Bash", {"command": "make build"}, f"error: no rule to make target 'x' at line {n}", failed=True)


def repeats(_: Random, n: int) -> Turn:
    return Turn("Bash", {"command": ("ls src", "cat notes")[n % 2]}, "parser")


def creeps(_: Random, n: int) -> Turn:
    return Turn("Write", {"file_path": f"/etc/elsewhere/f{n}.conf", "content": "x"}, "written")


def wanders(_: Random, n: int) -> Turn:
    return Turn("Read", {"file_path": f"far/away/d{n}/f{n}.txt"}, f"nothing here {n}")


def is_refused(_: Random, n: int) -> Turn:
    return Turn("Bash", {"command": f"git push --force # {n}"}, "never")


def imagines(_: Random, n: int) -> Turn:
    return Turn("Read", {"file_path": f"src/ghost{n}.py"}, f"File does not exist: src/ghost{n}.py", failed=True)


def talks(_: Random, n: int) -> Turn:
    return Turn(says="Let me think about the court of the court again. " * (1 + n % 3))


def waits(_: Random, n: int) -> Turn:
    return Turn("Bash", {"command": "sudo make install"}, "sudo: a password is required", failed=True)


def tampers(_: Random, n: int) -> Turn:
    old, new = f"assert f({n}) == 3", f"assert True  # {n}"
    return Turn("Edit", {"file_path": "tests/test_f.py", "old_string": old, "new_string": new}, "The file was updated.")


def does_the_forbidden(_: Random, n: int) -> Turn:
    return Turn("Bash", {"command": f"echo {n} > hooks"}, "never")


BAD: tuple[Mood, ...] = (errs, repeats, creeps, wanders, is_refused, imagines, talks, waits, tampers)


SERVICE = (
    "API Error: 529 Overloaded",
    "Claude AI usage limit reached",
    "You've hit your session limit · resets 3pm (UTC)",
    "API Error: 400 the request is malformed",
)
"""What a turn ends in where the service fails."""


class Mind:
    """Changes its mood now and then, and more often when it is told something.

    Args:
        rng: Its luck.
        steps: Turns until it is done.
    """

    def __init__(self, rng: Random, steps: int) -> None:
        self._rng = rng
        self._left = steps
        self._n = 0
        self._heeds = rng.choice([0.0, 0.3, 0.9])
        self._mood: Mood = works

    def told(self) -> None:
        """Heed what was said, or not."""
        if self._rng.random() < self._heeds:
            self._mood = works

    def next(self) -> Turn:
        """What it does now."""
        self._n += 1
        self._left -= 1
        if self._left <= 0:
            return Turn(ends=True)
        if self._rng.random() < 0.006:
            return Turn(ends=True, says=self._rng.choice(SERVICE))
        if self._rng.random() < 0.12:
            self._mood = self._rng.choice(BAD)
        if self._rng.random() < 0.003:
            return does_the_forbidden(self._rng, self._n)
        return self._mood(self._rng, self._n)
