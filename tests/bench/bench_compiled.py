"""How long reviews and lines take in the compiled form of reviewer and core, beside the pure one.

usage: python -m tests.bench --only compiled

It takes the form in `build/compiled`, which `make compiled` leaves, or compiles one, which takes minutes.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import orjson

from hatch_build import compile_pure
from tests.bench.bench_review import COMMANDS
from tests.bench.figures import Figure
from tests.docs import ROOT

KEPT = ROOT / "build" / "compiled"

ROUNDS = 1_000

_MEASURE = f"""
import sys, orjson
sys.path[:0] = sys.argv[1:]
from monitors.review import ReviewSettings, make_reviewer, reviewer
from supervisor.core import session
from tests.bench.bench_core import lines_a_second, review_micros
from tests.bench.bench_review import COMMANDS, _times
from tests.bench.figures import percentile
made = make_reviewer(ReviewSettings(profile="strict"))
spent = {{name: percentile(_times(made, command, {ROUNDS}), 0.5) for name, command in COMMANDS.items()}}
print(orjson.dumps([[reviewer.__file__, session.__file__], spent, lines_a_second(), review_micros()]).decode())
"""


def main() -> list[Figure]:
    """Measure each form in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = KEPT
        if not compiled.is_dir():
            compiled = Path(folder)
            compile_pure(ROOT, compiled)
        pure, lines, again = _spent(".py", ROOT)
        fast, more_lines, less_again = _spent(".so", compiled, ROOT)
    figures = [Figure(f"review of {name}, compiled, 50th percentile", fast[name], "ms") for name in COMMANDS]
    share = max(fast[name] / pure[name] for name in COMMANDS)
    return [
        *figures,
        Figure("the largest share that the compiled form takes of the pure one's time", share, "", aim=1.0),
        Figure("one review of a shell command that agents give again, pure, in the same run", again, "µs", 140),
        Figure("one review of a shell command that agents give again, compiled", less_again, "µs", 100),
        Figure("wire and core with reviewer and detectors, one core, pure, in the same run", lines, "lines/s", 20_000, True),
        Figure("wire and core with reviewer and detectors, one core, compiled", more_lines, "lines/s", 20_000, True),
    ]  # fmt: skip


def _spent(form: str, *paths: Path) -> tuple[dict[str, float], float, float]:
    """Measure the form whose reviewer and core are files of that suffix.

    Returns:
        Milliseconds of processor time by command, lines a second, and microseconds of a review given again.
    """
    argv = [sys.executable, "-P", "-c", _MEASURE, *map(str, paths)]
    done = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, timeout=300)
    loaded, spent, lines, again = orjson.loads(done.stdout)
    assert all(one.endswith(form) for one in loaded), loaded
    return spent, lines, again
