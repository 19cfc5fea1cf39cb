"""The command that runs recorded sessions through today's reviewer, detectors and controller, offline."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from interventions.contract import Situation
from interventions.controller import Controller
from monitors.review import make_reviewer
from supervisor.cli import common, view
from supervisor.core.replay import Replay, recorded_task, replay
from supervisor.protocol import events
from supervisor.protocol.interventions import Intervention
from supervisor.protocol.issues import Issue
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

    PATHS are transcripts (`~/.claude/projects`), recorded stream-json, or output files of agents; of a directory, every
    .jsonl file below it. With --json, one object a session and a last one with the totals.
    """

    async def work() -> None:
        rehearsal = _Replayer()
        found = list(_files(paths))
        with click.progressbar(found, label="replaying", file=sys.stderr, hidden=as_json or timeline) as bar:
            results = [rehearsal.session(path, timeline) for path in bar] if not as_json else []
        if as_json:
            totals: Counter[str] = Counter()
            for path in found:
                result = rehearsal.session(path, timeline=False)
                totals.update(_totals(result))
                click.echo(orjson.dumps(result))
            click.echo(orjson.dumps({"totals": dict(totals)}))
        else:
            _table(results, show_all)

    common.run(work)


class _Replayer:
    """Replays sessions under the configuration that holds here."""

    def __init__(self) -> None:
        self._config = common.configuration().config
        self._reviewer = make_reviewer(review_settings(self._config))
        self._make_detectors = MakeDetectors.of(self._config)
        self._clock = Clock()

    def session(self, path: Path, timeline: bool) -> dict[str, Any]:
        """Replay one file; the object of the contract."""
        began = self._clock.mono()
        with path.open("rb") as lines:
            task = recorded_task(lines)
        detectors = self._make_detectors(task)
        with path.open("rb") as lines:
            result: Replay = replay(lines, self._reviewer, detectors, _tell if timeline else None)
        return result.as_json(str(path), self._clock.mono() - began, lambda issue: self._answer(issue, task))

    def _answer(self, issue: Issue, task: Task) -> str | None:
        """What the controller would choose for the issue alone, with nothing tried before."""
        controller = Controller(controller_settings(self._config), task)
        controller.remember(1, events.IssueSeen(agent="replay", at=0.0, mono=0.0, issue=issue))
        due = controller.next(Situation(agent="replay", task=task, id="replay-1", mono=0.0))
        return due.kind if isinstance(due, Intervention) else None


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]


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


def _tell(seen: Observation) -> None:
    """One line of a timeline."""
    match seen:
        case UserSpoke():
            click.echo(f"{seen.seq:>6} told     {view.clean(seen.text)}")
        case AgentSpoke():
            click.echo(f"{seen.seq:>6} says     {view.clean(seen.text)}")
        case ToolReturned():
            mark = "refused" if seen.refused else "failed" if seen.failed else "ran"
            click.echo(
                f"{seen.seq:>6} {mark:<8} {seen.tool} {view.clean(str(dict(seen.input)), 60)} → {view.clean(seen.text, 80)}"
            )
