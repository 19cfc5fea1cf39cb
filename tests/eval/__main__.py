"""How the step reviewer does on commands that other people collected.

usage: python -m tests.eval DIRECTORY [--keep]

The corpora stand outside the repository. The strict profile is used: nothing is in a workspace, nothing is reversible.
"""

import argparse
import os
import sys
from pathlib import Path

from supervisor.cli.output.progress import shown
from tests.bench.kept import keep
from tests.eval import in_workspace
from tests.eval.corpus import labelled, unlabelled
from tests.eval.labels import judged
from tests.eval.measure import measured
from tests.eval.report import figures, labels_report, speed_report


def main() -> int:
    """Print the report; 1 where the corpora are not there or a command could not be reviewed."""
    parser = argparse.ArgumentParser(prog="python -m tests.eval")
    parser.add_argument("directory", type=Path, help="holds labelled.jsonl and unlabelled.jsonl")
    parser.add_argument(
        "--keep", action="store_true", help="let the documents show the figures; `make docs` draws them"
    )
    asked = parser.parse_args()
    if not (asked.directory / "labelled.jsonl").is_file():
        sys.stderr.write(f"{asked.directory} has no labelled.jsonl; name the directory of the corpora.\n")
        return 1
    before = os.getloadavg()[0]
    judgements = judged(labelled(asked.directory))
    sys.stdout.write(labels_report(judgements))
    with shown("reviewing", "", "command") as report:
        result = measured(unlabelled(asked.directory), report)
    sys.stdout.write(speed_report(result))
    sys.stdout.write(in_workspace.report())
    if asked.keep:
        keep(
            "eval",
            [*figures(judgements, result), *in_workspace.figures()],
            (round(before, 1), round(os.getloadavg()[0], 1)),
        )
    return 1 if result.crashes else 0


if __name__ == "__main__":
    sys.exit(main())
