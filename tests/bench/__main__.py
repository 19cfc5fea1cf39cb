"""The benchmarks, one after another, and a table of what they found.

usage: python -m tests.bench [--only NAME]... [--keep]

The figures are of this machine at this moment: others at work on it raise all of them.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from supervisor.cli.output.progress import shown
from tests.bench import (
    bench_added,
    bench_answers,
    bench_checkpoint_live,
    bench_checkpoints,
    bench_commands,
    bench_compiled,
    bench_core,
    bench_decision,
    bench_fleet,
    bench_hooks,
    bench_journal,
    bench_many,
    bench_masking,
    bench_merges,
    bench_panel,
    bench_project,
    bench_readers,
    bench_real_runs,
    bench_review,
    bench_shim,
    bench_start,
    bench_task_store,
    bench_tasks,
    bench_wall,
    bench_wire,
)
from tests.bench.figures import Figure, table
from tests.bench.kept import keep

BENCHES: Mapping[str, Callable[[], Sequence[Figure]]] = {
    "wire": bench_wire.main,
    "core": bench_core.main,
    "review": bench_review.main,
    "compiled": bench_compiled.main,
    "journal": bench_journal.main,
    "masking": bench_masking.main,
    "shim": bench_shim.main,
    "start": bench_start.main,
    "answers": bench_answers.main,
    "fleet": bench_fleet.main,
    "fleet_thousand": bench_fleet.thousand,
    "decision": bench_decision.main,
    "readers": bench_readers.main,
    "many": bench_many.main,
    "merges": bench_merges.main,
    "project": bench_project.main,
    "tasks": bench_tasks.main,
    "task_store": bench_task_store.main,
    "added": bench_added.main,
    "hooks": bench_hooks.main,
    "hooks_flood": bench_hooks.flood,
    "checkpoint_live": bench_checkpoint_live.main,
    "checkpoints": bench_checkpoints.main,
    "checkpoints_large": bench_checkpoints.large,
    "hooks_killed": bench_hooks.killed,
    "commands": bench_commands.main,
    "panel": bench_panel.main,
    "real_runs": bench_real_runs.main,
    "wall": bench_wall.main,
}
"""By name, the quick ones first."""

BY_NAME_ONLY = frozenset({"checkpoints_large", "compiled", "hooks_killed", "panel", "real_runs"})
"""Run only where it is asked for: some minutes each, 4 GB of disk for the first, a browser for `panel`, and sessions that others recorded for the last. The others take under ten minutes together."""


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--only", action="append", choices=BENCHES, help="one of them; may be given several times")
    parser.add_argument(
        "--keep", action="store_true", help="let the documents show these figures; `make docs` draws them"
    )
    asked = parser.parse_args()
    wanted = asked.only or [name for name in BENCHES if name not in BY_NAME_ONLY]
    with shown("measuring", "", "benchmark") as report:
        for number, name in enumerate(wanted):
            before = os.getloadavg()[0]
            sys.stdout.write(f"── {name}\n")
            sys.stdout.flush()
            report(number, len(wanted))
            figures = BENCHES[name]()
            load = round(before, 1), round(os.getloadavg()[0], 1)
            sys.stdout.write(f"\n{table(figures)}\n\nLoad of the machine: {load[0]} before, {load[1]} after.\n")
            if asked.keep:
                keep(name, figures, load)
    return 0


if __name__ == "__main__":
    sys.exit(main())
