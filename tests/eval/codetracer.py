"""How often detectors and peers' rules alarm in sessions that others recorded, among solved and unsolved tasks.

    git clone https://github.com/NJU-LINK/CodeTracer
    python -m tests.eval.codetracer CodeTracer

The repository (MIT) holds sessions of Claude CLI over tasks of Terminal-Bench with the verdict of each task's own
tests: by five models, as recordings of a terminal or as the lines that the CLI printed. Sessions whose channel failed
stand apart, since their end says nothing about the agent: the service answered with errors, the run was broken off, or
no tool ever answered. There is no figure over all of them: the models differ more than the rules do.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.eval.patterns import run
from tests.eval.peers import RULES, Peers

TERMINAL = "sessions/agent.cast"
PRINTED = "agent/claude-code.txt"


class End(StrEnum):
    """The end of a session, by the tests of its task."""

    SOLVED = "solved"
    UNSOLVED = "unsolved"
    CHANNEL_FAILED = "channel failed"


@dataclass(frozen=True, slots=True)
class Session:
    """One recorded session."""

    model: str
    name: str
    end: End
    lines: list[bytes]


@dataclass
class Alarms:
    """Sessions of one model and end, and how many of them each rule spoke in."""

    sessions: int = 0
    steps: int = 0
    ours: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    theirs: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, session: Session) -> None:
        """Replay the session through ours and theirs."""
        peers = Peers()
        types = {seen.issue.type for seen in run(session.lines, peers.see).issues if not seen.issue.closed}
        self.sessions += 1
        self.steps += sum(b'"tool_result"' in line for line in session.lines)
        for type_ in types | ({"any"} if types else set()):
            self.ours[type_] += 1
        for rule, spoke in peers.spoke.items():
            self.theirs[rule] += bool(spoke)


def sessions(root: Path) -> Iterator[Session]:
    """Read the sessions below a checkout of the repository, in order."""
    traces = root / "data/traj" if (root / "data/traj").is_dir() else root
    for cast in sorted(traces.rglob(TERMINAL)):
        folder = cast.parent.parent
        verdict = json.loads((folder / "results.json").read_text())
        lines = _lines(_typed(cast))
        yield Session(_model(traces, folder), folder.name, _end(verdict.get("is_resolved"), lines), lines)
    for printed in sorted(traces.rglob(PRINTED)):
        folder = printed.parent.parent
        verdict = json.loads((folder / "result.json").read_text())
        reward = ((verdict.get("verifier_result") or {}).get("rewards") or {}).get("reward")
        broken = verdict.get("exception_info") is not None
        lines = _lines(printed.read_text(errors="replace"))
        yield Session(_model(traces, folder), folder.name, _end(None if broken else reward, lines), lines)


def _model(traces: Path, folder: Path) -> str:
    parts = folder.relative_to(traces).parts
    return parts[1].removeprefix("claude_code_") if parts[0] == "claude_code" else parts[0]


def _typed(cast: Path) -> str:
    """Return all that the terminal showed."""
    shown: list[str] = []
    for line in cast.read_text(errors="replace").splitlines()[1:]:
        try:
            _, kind, text = json.loads(line)
        except ValueError:  # the recording was cut within a line
            continue
        if kind == "o":
            shown.append(text)
    return "".join(shown)


def _lines(text: str) -> list[bytes]:
    """Return the lines that are messages of the CLI."""
    found = []
    for line in text.replace("\r", "").split("\n"):
        if line.startswith('{"type":'):
            try:
                json.loads(line)
            except ValueError:
                continue
            found.append(line.encode(errors="replace"))
    return found


def _end(solved: Any, lines: list[bytes]) -> End:
    messages = [json.loads(line) for line in lines]
    last = next((one for one in reversed(messages) if one.get("type") == "result"), None)
    answered = any(b'"tool_result"' in line for line in lines)
    broken = last is not None and last.get("is_error") is True
    if solved:
        return End.SOLVED
    return End.CHANNEL_FAILED if solved is None or broken or not answered else End.UNSOLVED


def measured(each: Iterable[Session]) -> dict[str, dict[End, Alarms]]:
    """Replay all sessions; returns the alarms by model and end."""
    found: dict[str, dict[End, Alarms]] = {}
    for session in each:
        found.setdefault(session.model, {end: Alarms() for end in End})[session.end].add(session)
    return found


def report(found: dict[str, dict[End, Alarms]]) -> str:
    """Return a table for each model, in Markdown: of how many sessions of each end each rule spoke in."""
    parts: list[str] = []
    for model, by_end in sorted(found.items()):
        heads = [f"{end} ({by_end[end].sessions}, {by_end[end].steps:,} calls)" for end in End]
        rows = [f"| {model} | {' | '.join(heads)} |", "| --- |" + " --- |" * len(End)]
        types = sorted({type_ for alarms in by_end.values() for type_ in alarms.ours} - {"any"})
        rows += [
            _row(f"ours: {type_}", [(by_end[end].ours[type_], by_end[end]) for end in End]) for type_ in ("any", *types)
        ]
        rows += [_row(rule, [(by_end[end].theirs[rule], by_end[end]) for end in End]) for rule in RULES]
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _row(name: str, cells: Iterable[tuple[int, Alarms]]) -> str:
    shown = (f"{spoke} = {spoke / alarms.sessions:.0%}" if alarms.sessions else "-" for spoke, alarms in cells)
    return f"| {name} | {' | '.join(shown)} |"


def main() -> int:
    """Print the tables; 1 if there are no sessions."""
    parser = argparse.ArgumentParser(prog="python -m tests.eval.codetracer")
    parser.add_argument("directory", type=Path, help="a checkout of NJU-LINK/CodeTracer")
    found = measured(sessions(parser.parse_args().directory))
    if not found:
        sys.stderr.write("There are no sessions below that directory; name a checkout of NJU-LINK/CodeTracer.\n")
        return 1
    sys.stdout.write(report(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
