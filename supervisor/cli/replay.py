"""The command that runs recorded sessions through today's reviewer, detectors and controller, offline."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import orjson

from interventions.contract import Situation
from interventions.controller import Controller
from monitors.review import make_reviewer
from supervisor.cli import common, view
from supervisor.core.replay import Replay, recorded_task, replay
from supervisor.core.rerun import rerun
from supervisor.protocol import events, records
from supervisor.protocol.interventions import Intervention
from supervisor.protocol.issues import Detector, Issue
from supervisor.protocol.observations import AgentSpoke, Observation, ToolReturned, UserSpoke
from supervisor.protocol.tasks import Task
from supervisor.runtime.clock import Clock
from supervisor.runtime.detecting import MakeDetectors
from supervisor.runtime.settings import controller_settings, review_settings

ROW = "{issues:>6} {blocked:>7} {actions:>7}  {worst:<24} {path}"


@click.command(name="replay")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--timeline", is_flag=True, help="Print what happened in each session, step by step.")
@click.option("--all", "show_all", is_flag=True, help="List healthy sessions in the table too.")
@common.json_option
def replay_command(paths: tuple[Path, ...], timeline: bool, show_all: bool, as_json: bool) -> None:
    """Run recorded sessions through reviewer and detectors, and report what would have been seen and done.

    PATHS are transcripts (`~/.claude/projects`), recorded stream-json, output files of agents, or the journal; of a
    directory, every .jsonl file below it. With --json, one object a session and a last one with the totals.
    """

    async def work() -> None:
        rehearsal = _Replayer(timeline)
        found = list(_recordings(paths))
        totals: Counter[str] = Counter()
        results: list[dict[str, Any]] = []
        with click.progressbar(found, label="replaying", file=sys.stderr, hidden=as_json or timeline) as bar:
            for recording in bar:
                for result in rehearsal.sessions(recording):
                    totals.update(_totals(result))
                    if as_json:
                        click.echo(orjson.dumps(result))
                    else:
                        results.append(result)
        if as_json:
            click.echo(orjson.dumps({"totals": dict(totals)}))
        else:
            _table(results, show_all)

    common.run(work)


class _Notes:
    """Stands among the detectors, sees nothing, and keeps what it was shown for a timeline."""

    name = "notes"

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def see(self, observation: Observation) -> Sequence[Issue]:
        self.seen.append(observation)
        return ()


@dataclass(frozen=True, slots=True)
class _Session:
    """One session, replayed."""

    path: str
    task: Task
    result: Replay
    notes: _Notes


class _Replayer:
    """Replays sessions under the configuration that holds here.

    Args:
        timeline: Whether to print what happened in each.
    """

    def __init__(self, timeline: bool) -> None:
        self._config = common.configuration().config
        self._reviewer = make_reviewer(review_settings(self._config))
        self._make_detectors = MakeDetectors.of(self._config)
        self._timeline = timeline
        self._clock = Clock()

    def sessions(self, recording: tuple[Path, ...]) -> Iterator[dict[str, Any]]:
        """Replay a recording; the contract's object of each session in it."""
        began = self._clock.mono()
        for found in self._of_journal(recording) if _is_journal(recording[0]) else [self._of_transcript(recording[0])]:
            if self._timeline:
                _tell(found)
            answer = partial(self._answer, found.task)
            yield found.result.as_json(found.path, self._clock.mono() - began, answer)
            began = self._clock.mono()

    def _of_transcript(self, path: Path) -> _Session:
        with path.open("rb") as lines:
            task = recorded_task(lines)
        notes = _Notes()
        watch = notes.seen.append if self._timeline else None
        with path.open("rb") as lines:
            return _Session(str(path), task, replay(lines, self._reviewer, self._make_detectors(task), watch), notes)

    def _of_journal(self, segments: tuple[Path, ...]) -> list[_Session]:
        """Every agent that the journal has from its beginning; its path is followed by the agent's name.

        Damaged lines may be anybody's; they are told with the first.
        """
        notes, damaged = dict[str, _Notes](), Counter[str]()

        def make(submitted: events.TaskSubmitted) -> Sequence[Detector]:
            notes[submitted.agent] = _Notes()
            detectors = self._make_detectors(submitted.task, submitted.workspace, submitted.factors)
            return (*detectors, *([notes[submitted.agent]] if self._timeline else []))

        runs = list(rerun(_events(segments, damaged), self._reviewer, make))
        for run in runs[:1]:
            run.result.damaged = damaged.total()
        place = segments[0] if len(segments) == 1 else segments[0].parent
        return [_Session(f"{place}#{run.agent}", run.task, run.result, notes[run.agent]) for run in runs]

    def _answer(self, task: Task, issue: Issue) -> str | None:
        """What the controller would choose for the issue alone, with nothing tried before."""
        controller = Controller(controller_settings(self._config), task)
        controller.remember(1, events.IssueSeen(agent="replay", at=0.0, mono=0.0, issue=issue))
        due = controller.next(Situation(agent="replay", task=task, id="replay-1", mono=0.0))
        return due.kind if isinstance(due, Intervention) else None


def _recordings(paths: Iterable[Path]) -> Iterator[tuple[Path, ...]]:
    """The files of each recording: one, but for a journal, whose segments in one directory belong together."""
    files = [file for path in paths for file in (sorted(path.rglob("*.jsonl")) if path.is_dir() else [path])]
    for (_, is_journal), group in groupby(files, lambda file: (file.parent, _is_journal(file))):
        together = tuple(group)
        yield from [together] if is_journal else ((file,) for file in together)


def _is_journal(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16).startswith((b'{"n":', b'{"first":'))


def _events(segments: Iterable[Path], damaged: Counter[str]) -> Iterator[tuple[int, events.AnyEvent]]:
    """The events of a journal with their numbers; lines that are damaged are counted and passed over."""
    for segment in segments:
        with segment.open("rb") as lines:
            for line in lines:
                if not line.strip() or line.startswith(b'{"first":'):
                    continue
                try:
                    record = records.decode(line)
                except records.RecordError:
                    damaged[segment.name] += 1
                    continue
                if not isinstance(record.event, records.UnknownEvent):
                    yield record.n, record.event


def _totals(result: dict[str, Any]) -> dict[str, int]:
    return {
        "sessions": 1,
        "sessions_with_issues": int(bool(result["issues"])),
        "events": result["events"],
        "actions": result["actions"],
        "issues": len(result["issues"]),
        **{f"decided_{name}": number for name, number in result["reviews"].items()},
    }


def _table(results: list[dict[str, Any]], show_all: bool) -> None:
    """The sessions in which something was seen, worst first."""
    rows = sorted(results, key=lambda one: (len(one["issues"]), one["reviews"].get("block", 0)), reverse=True)
    shown = [one for one in rows if show_all or one["issues"] or one["reviews"].get("block")]
    click.echo(ROW.format(issues="ISSUES", blocked="BLOCKED", actions="ACTIONS", worst="FIRST ISSUE", path="SESSION"))
    for one in shown:
        first = one["issues"][0]["type"] if one["issues"] else "-"
        blocked = one["reviews"].get("block", 0)
        click.echo(
            ROW.format(
                issues=len(one["issues"]), blocked=blocked, actions=one["actions"], worst=first, path=one["path"]
            )
        )
    healthy = sum(1 for one in results if not one["issues"])
    click.echo(f"{len(results)} sessions replayed, {healthy} of them without an issue.")


def _tell(session: _Session) -> None:
    """Print a session's timeline: what happened, and the issues at the events at which they were raised and closed."""
    told = [(one.seq, text) for one in session.notes.seen if (text := _told(one))]
    told += [(at.at_event, _raised(at.issue)) for at in session.result.issues]
    click.echo(session.path)
    for seq, text in sorted(told, key=lambda line: line[0]):
        click.echo(f"{seq:>6} {text}")


def _told(seen: Observation) -> str:
    """One line of a timeline; empty for what says nothing to a person."""
    match seen:
        case UserSpoke():
            return f"told     {view.clean(seen.text)}"
        case AgentSpoke():
            return f"says     {view.clean(seen.text)}"
        case ToolReturned():
            mark = "refused" if seen.refused else "failed" if seen.failed else "ran"
            return f"{mark:<8} {seen.tool} {view.clean(str(dict(seen.input)), 60)} → {view.clean(seen.text, 80)}"
        case _:
            return ""


def _raised(issue: Issue) -> str:
    return f"{'over' if issue.closed else 'issue':<8} {issue.type} ({issue.severity}): {view.clean(issue.sentence)}"
