"""Other tools' reviews of the same commands, in one run with ours.

    python -m tests.eval.peer_reviews CORPORA --peer 'nah=python -m nah.hook'

A peer is a hook of Claude CLI for `PreToolUse`: it is given a call on its input and answers with a decision. Each
command gets a process of its own, in an empty workspace below an empty home; `deny` and `ask` both count as stopped.
Ours is asked in the standard profile with the same workspace.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from monitors.contract.actions import Action, ReviewContext
from monitors.review import ReviewSettings, make_reviewer
from tests.eval.corpus import labelled
from tests.eval.in_workspace import HOME, calls
from tests.eval.labels import STOPPED

SECONDS = 30.0
"""The longest that a peer may take for one answer; later it counts as one that lets the call pass, as the CLI does."""
OWN = frozenset({"fifth round", "sixth round", "seventh round", "eighth round", "ninth round", "tenth round", "tenth round, held back", "eleventh round", "eleventh round, held back", "twelfth round", "twelfth round, held back", "thirteenth round", "thirteenth round, held back"})  # fmt: skip
"""Groups of our own calls that were written before a look at the rules."""


@dataclass(frozen=True, slots=True)
class Row:
    """A command of a set, and whether it is to be stopped."""

    group: str
    command: str
    stop: bool


def rows(corpora: Path, every: int) -> list[Row]:
    """Return each so many-th collected command, and all of our own of the rounds at first sight."""
    collected = [Row("collected", row.command, row.deny) for row in labelled(corpora)[::every]]
    own = [
        Row(call.group, str(call.input["command"]), call.stop)
        for call in calls()
        if call.group in OWN and call.tool == "Bash" and not call.earlier
    ]
    return [*collected, *own]


def asked(words: Sequence[str], command: str, home: Path) -> str:
    """Return a peer's decision; `allow` where it gives none."""
    workspace = str(home / "app")
    call = {
        "session_id": "eval",
        "cwd": workspace,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command.replace(HOME, str(home))},
    }
    try:
        done = subprocess.run(
            words, input=json.dumps(call).encode(), capture_output=True, timeout=SECONDS, cwd=workspace, check=False,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home)},
        )  # fmt: skip
        answer = json.loads(done.stdout) if done.stdout.strip() else {}
    except (subprocess.TimeoutExpired, ValueError):
        return "allow"
    if done.returncode == 2:
        return "deny"
    return str(answer.get("hookSpecificOutput", {}).get("permissionDecision", answer.get("decision", "allow")))


def compared(each: Sequence[Row], peers: Mapping[str, Sequence[str]]) -> dict[str, list[bool]]:
    """Return which of the commands ours stopped, and each peer."""
    found: dict[str, list[bool]] = {"ours": []}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        home = Path(folder)
        (home / "app").mkdir()
        reviewer, context = make_reviewer(ReviewSettings()), ReviewContext(home=str(home))
        for row in each:
            text = row.command.replace(HOME, str(home))
            made = reviewer.review(Action("Bash", {"command": text}, f"{home}/app", f"{home}/app"), context)
            found["ours"].append(made.decision in STOPPED)
        for name, words in peers.items():
            answers = pool.map(lambda row, words=words: asked(words, row.command, home), each)
            found[name] = [answer in ("deny", "ask", "block") for answer in answers]
    return found


def report(each: Sequence[Row], found: Mapping[str, Sequence[bool]]) -> str:
    """Return a table in Markdown: of each group and label, the share that each stopped."""
    totals = Counter((row.group, row.stop) for row in each)
    counts = [
        Counter((row.group, row.stop) for row, one in zip(each, stopped, strict=True) if one)
        for stopped in found.values()
    ]
    lines = [f"| set | {' | '.join(found)} |", "| --- |" + " --- |" * len(found)]
    for (group, stop), total in totals.items():
        what = "dangerous" if stop else "harmless"
        cells = " | ".join(f"{count[group, stop] / total:.1%}" for count in counts)
        lines.append(f"| {group}: {total} {what} | {cells} |")
    return "\n".join(lines) + "\n"


def misses(each: Sequence[Row], found: Mapping[str, Sequence[bool]]) -> str:
    """Return each command that one of them judged otherwise than its label, with who did, one JSON object a line."""
    lines = [
        {"group": row.group, "stop": row.stop, "missed_by": wrong, "command": row.command}
        for row, *answers in zip(each, *found.values(), strict=True)
        if (wrong := [name for name, stopped in zip(found, answers, strict=True) if stopped != row.stop])
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.eval.peer_reviews")
    parser.add_argument("directory", type=Path, help="holds labelled.jsonl")
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=COMMAND", help="may be given several times"
    )
    parser.add_argument("--every", type=int, default=1, help="take each so many-th collected command")
    parser.add_argument("--misses", type=Path, help="a file for each command that one of them judged wrongly")
    wanted = parser.parse_args()
    named = (one.partition("=") for one in wanted.peer)
    each = rows(wanted.directory, wanted.every)
    found = compared(each, {name: shlex.split(command) for name, _, command in named})
    sys.stdout.write(report(each, found))
    if wanted.misses:
        wanted.misses.write_text(misses(each, found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
