"""The figures that the documents show: what a benchmark measured last, and on what day and under which load.

They are kept in `measured.json` beside this file, a part for each benchmark, so that one can be taken again alone.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import gmtime, strftime

import orjson

from supervisor.runtime.clock import Clock
from tests.bench.figures import Figure

FILE = Path(__file__).with_name("measured.json")


@dataclass(frozen=True, slots=True)
class Kept:
    """One benchmark's last run."""

    day: str
    load: tuple[float, float]
    """The machine's load over a minute, before and after; what is above 1 is mostly other people's work."""
    figures: tuple[Figure, ...]


def kept(file: Path = FILE) -> dict[str, Kept]:
    """All that is kept, by the benchmark's name."""
    return {
        name: Kept(part["day"], (part["load"][0], part["load"][1]), tuple(Figure(**one) for one in part["figures"]))
        for name, part in orjson.loads(file.read_bytes()).items()
    }


def keep(name: str, figures: Sequence[Figure], load: tuple[float, float], file: Path = FILE) -> None:
    """Put a run in the place of the one before it; the others stay."""
    day = strftime("%Y-%m-%d", gmtime(Clock().wall()))
    parts = (kept(file) if file.exists() else {}) | {name: Kept(day, load, tuple(figures))}
    wanted = {one: asdict(part) for one, part in parts.items()}
    file.write_bytes(orjson.dumps(wanted, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
