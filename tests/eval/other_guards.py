"""The commands that other guards are tested with, which nobody here has written.

    python -m tests.eval.other_guards --shellfirm DIR --safety-net DIR --sh-guard DIR [--misses]

Each directory is a clone: kaplanelad/shellfirm, kenryu42/claude-code-safety-net, aryanbhosale/sh-guard. Their labels
say what their rules are for. Ours is asked in the strict profile, since theirs know of no workspace and no checkpoint.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tests.eval.corpus import Row
from tests.eval.labels import Judged, judged

GRAVE = frozenset({"high", "critical"})
"""Severities of shellfirm's checks that count; the others ask about what is merely worth a thought, as a cherry-pick."""
_ASSERTED = re.compile(r"assert(Blocked|Allowed)\(\s*('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")")
_SH_GUARD = ("critical", "danger", "safe", "evasion", "injection", "pipelines", "caution", "gtfobins", "zsh")


def shellfirm(clone: Path) -> Iterator[Row]:
    """Yield what its tests of checks say: a command that a grave check is for, or one that none is for."""
    checks = [
        check for file in sorted(clone.glob("shellfirm/checks/*.yaml")) for check in yaml.safe_load(file.read_text())
    ]
    grave = {check["id"] for check in checks if str(check.get("severity", "")).lower() in GRAVE}
    for file in sorted(clone.glob("shellfirm/tests/checks/*.yaml")):
        for test in yaml.safe_load(file.read_text()):
            expected = set(test.get("expect_ids") or ())
            if not expected or expected & grave:
                yield Row(str(test["test"]), deny=bool(expected), source="shellfirm", group=file.stem)


def safety_net(clone: Path) -> Iterator[Row]:
    """Yield the commands that its tests say are blocked or allowed, where they stand as one text."""
    for name in ("analyze/edge-cases", "analyze/find", "rules-git", "rules-rm"):
        for found in _ASSERTED.finditer((clone / f"tests/core/{name}.test.ts").read_text()):
            yield Row(str(ast.literal_eval(found[2])), deny=found[1] == "Blocked", source="safety-net", group=name)


def sh_guard(clone: Path) -> Iterator[Row]:
    """Yield its corpus, of which `critical` is to be stopped and `safe` to pass; what is between is neither."""
    for name in _SH_GUARD:
        for line in (clone / f"tests/corpus/{name}.txt").read_text().splitlines():
            command, label, _ = (*line.rsplit(" | ", 2), "", "")[:3]
            if label in ("critical", "safe") and line[:1] != "#":
                yield Row(command, deny=label == "critical", source="sh-guard", group=name)


def distinct(rows: Iterator[Row]) -> list[Row]:
    """Return each command once, as it is labelled first."""
    return list({row.command: row for row in reversed(list(rows)) if row.command.strip()}.values())[::-1]


def table(each: Sequence[Judged]) -> str:
    """Return the shares that were stopped, by source and label."""
    lines = []
    for source in dict.fromkeys(one.row.source for one in each):
        for deny in (True, False):
            rows = [one for one in each if one.row.source == source and one.row.deny is deny]
            stopped = sum(one.stopped for one in rows)
            what = "to be stopped" if deny else "to pass"
            lines.append(f"| {source}: {len(rows)} {what} | {100 * stopped / max(len(rows), 1):.1f}% |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table, and what is judged otherwise than its label."""
    parser = argparse.ArgumentParser(prog="python -m tests.eval.other_guards")
    readers = {"shellfirm": shellfirm, "safety_net": safety_net, "sh_guard": sh_guard}
    for name in readers:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path)
    parser.add_argument("--misses", action="store_true")
    asked = parser.parse_args()
    given = {name: getattr(asked, name) for name in readers}
    each = judged([row for name, read in readers.items() if given[name] for row in distinct(read(given[name]))])
    sys.stdout.write(table(each))
    for one in each if asked.misses else ():
        if one.missed:
            label = "stop" if one.row.deny else "pass"
            sys.stdout.write(f"  {label} {one.row.source} {one.row.command[:150]!r} -> {one.review.decision.value} {one.review.rule}\n")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
