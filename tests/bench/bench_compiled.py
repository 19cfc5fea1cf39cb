"""How long reviews take in the compiled form of the reviewer, beside the pure one.

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
from tests.bench.bench_review import COMMANDS, _times
from tests.bench.figures import percentile
made = make_reviewer(ReviewSettings(profile="strict"))
spent = {{name: percentile(_times(made, command, {ROUNDS}), 0.5) for name, command in COMMANDS.items()}}
print(orjson.dumps([reviewer.__file__, spent]).decode())
"""


def main() -> list[Figure]:
    """Measure each form in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = KEPT
        if not compiled.is_dir():
            compiled = Path(folder)
            compile_pure(ROOT, compiled)
        pure, fast = _spent(".py", ROOT), _spent(".so", compiled, ROOT)
    figures = [Figure(f"review of {name}, compiled, 50th percentile", fast[name], "ms") for name in COMMANDS]
    share = max(fast[name] / pure[name] for name in COMMANDS)
    return [
        *figures,
        Figure("the largest share that the compiled form takes of the pure one's time", share, "", aim=1.0),
    ]


def _spent(form: str, *paths: Path) -> dict[str, float]:
    """Return milliseconds of processor time by command, of the form whose reviewer is a file of that suffix."""
    argv = [sys.executable, "-P", "-c", _MEASURE, *map(str, paths)]
    done = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, timeout=300)
    loaded, spent = orjson.loads(done.stdout)
    assert loaded.endswith(form), loaded
    return dict(spent)
