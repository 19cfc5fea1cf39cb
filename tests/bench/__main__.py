"""All benchmarks, one after another, and one table of what they found.

usage: python -m tests.bench [--only NAME]... [--markdown]

The figures are of this machine at this moment: others at work on it raise all of them.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from tests.bench import (
    bench_added,
    bench_answers,
    bench_checkpoint_live,
    bench_checkpoints,
    bench_core,
    bench_fleet,
    bench_journal,
    bench_review,
    bench_shim,
    bench_start,
    bench_wire,
)
from tests.bench.figures import Figure, table

BENCHES: Mapping[str, Callable[[], Sequence[Figure]]] = {
    "wire": bench_wire.main,
    "core": bench_core.main,
    "review": bench_review.main,
    "journal": bench_journal.main,
    "shim": bench_shim.main,
    "start": bench_start.main,
    "answers": bench_answers.main,
    "fleet": bench_fleet.main,
    "added": bench_added.main,
    "checkpoint_live": bench_checkpoint_live.main,
    "checkpoints": bench_checkpoints.main,
}
"""By name, the quick ones first; all of them take under ten minutes."""


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--only", action="append", choices=BENCHES, help="one of them; may be given several times")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    asked = parser.parse_args()
    found: list[Figure] = []
    before = os.getloadavg()[0]
    for name in asked.only or BENCHES:
        sys.stdout.write(f"── {name}\n")
        sys.stdout.flush()
        found += BENCHES[name]()
    sys.stdout.write(f"\n{table(found, markdown=asked.markdown)}\n")
    sys.stdout.write(f"\nLoad of the machine: {before:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
