"""`python -m tests.eval [CORPUS_DIR]`: how the step reviewer does on commands that other people collected.

The corpora stand outside the repository. The strict profile is used: nothing is in a workspace, nothing is reversible.
"""

import sys
from pathlib import Path

from tests.eval.corpus import labelled, unlabelled
from tests.eval.labels import judged
from tests.eval.measure import measured
from tests.eval.report import labels_report, speed_report

DEFAULT = Path(__file__).parents[2].parent / "shared" / "corpora"


def main(argv: list[str]) -> int:
    """Print the report; 1 where the corpora are not there or a command could not be reviewed."""
    directory = Path(argv[0]) if argv else DEFAULT
    if not (directory / "labelled.jsonl").is_file():
        sys.stderr.write(
            f"{directory} has no labelled.jsonl; name the directory of the corpora: python -m tests.eval DIRECTORY\n"
        )
        return 1
    sys.stdout.write(labels_report(judged(labelled(directory))))
    result = measured(unlabelled(directory))
    sys.stdout.write(speed_report(result))
    return 1 if result.crashes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
