"""Recorded sessions, run through today's reviewer, detectors and controller, offline."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from interventions.choice.controller import Controller, Stamp
from interventions.contract import Situation
from interventions.decisions import Intervention
from monitors.contract import anyjson
from monitors.contract.actions import Reviewer
from monitors.contract.errors import UsageError
from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import AgentSpoke, Observation, TaskReplaced, ToolReturned, UserSpoke
from monitors.contract.progress import Report
from monitors.contract.tasks import Task
from monitors.contract.wording import counted
from monitors.contract.words import Severity
from monitors.review import NoFiles
from supervisor.cli import common
from supervisor.cli.commands.policy.replay_against import ComparedReviewer, config_to_try
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import shown
from supervisor.cli.output.tables import Column, table
from supervisor.cli.output.words import clean, what
from supervisor.config.model import Config
from supervisor.core.replay.journal_replay import rerun
from supervisor.core.replay.transcript_replay import FILES, POLICY, Replay, recorded_task, replay
from supervisor.protocol import events, records
from supervisor.runtime.assembly.detectors import MakeDetectors
from supervisor.runtime.assembly.interventions import PluginInterventions
from supervisor.runtime.assembly.policy_store import kept_policy
from supervisor.runtime.assembly.protection import make_opener
from supervisor.runtime.assembly.review_settings import ReviewerSetup
from supervisor.runtime.assembly.reviewer import make_gate_reviewer
from supervisor.runtime.assembly.settings import controller_settings
from supervisor.runtime.clock import Clock
from supervisor.runtime.filesystem import FileFacts

MAX_CHANGED = 5
"""Calls named that would be decided otherwise; --json has all."""

COLUMNS = (
    Column("ISSUES", right=True),
    Column("BLOCKED", right=True, spare=2),
    Column("ACTIONS", right=True, spare=1),
    Column("WORST ISSUE"),
    Column("ANSWER", spare=3),
    Column("SESSION"),
)


def run_replay(
    *,
    paths: tuple[Path, ...],
    timeline: bool,
    here: bool,
    policy: str,
    against: Path | None,
    html: Path | None,
    progress: bool,
    show_all: bool,
    as_json: bool,
) -> int:
    """Replay recorded sessions as `chaperon replay` is told to; return its exit code.

    Raises:
        UsageError: There is nothing to replay, or the report cannot be made. Nothing was replayed.
    """
    found = list(_recordings(paths))
    if not found:
        raise UsageError(
            "There is no .jsonl file below these paths; nothing was replayed.",
            way_out="Name a transcript (~/.claude/projects), what an agent printed, or the journal in the state directory.",
        )
    write = _html_writer(html) if html is not None else None
    quiet = timeline or (as_json and not progress)
    totals: Counter[str] = Counter()
    results: list[dict[str, Any]] = []
    with shown("replaying", "", "MiB", quiet=quiet) as report:
        read = _Bytes(found, report)
        rehearsal = _Replayer(timeline, here, then=policy == "then", against=against, read=read.add)
        for recording in found:
            for result in rehearsal.sessions(recording):
                totals.update(_totals(result))
                if as_json:
                    terminal.echo_line(anyjson.dumps(result))
                if result["events"] and (not as_json or write is not None):
                    results.append(result)
    if write is not None:
        write(results)
    if as_json:
        terminal.echo_line(anyjson.dumps({"totals": dict(totals)}))
    else:
        _table(results, totals, show_all)
    return common.FAILED if rehearsal.unread else 0


def _html_writer(path: Path) -> Callable[[Sequence[Mapping[str, Any]]], None]:
    """Return what writes the report; raises HtmlFileError before anything is replayed if it cannot be made."""
    try:
        from supervisor.cli.commands.policy.replay_page import replay_page
        from supervisor.cli.output.html_file import write_html
    except ImportError as error:
        raise UsageError(
            "A report as HTML needs a package that is not installed; nothing was replayed.",
            way_out="Install chaperon with its extra [panel], or leave --html out.",
        ) from error

    def write(results: Sequence[Mapping[str, Any]]) -> None:
        write_html(path, replay_page(results))
        terminal.echo(f"The report is in {path}.", err=True)

    return write


class _Bytes:
    """Counts the bytes of recordings that were read, for reports in MiB.

    Args:
        found: The recordings.
        report: Told of them.
    """

    def __init__(self, found: Sequence[tuple[Path, ...]], report: Report) -> None:
        self._report, self._read = report, 0
        self._total = sum(_size(file) for files in found for file in files)

    def add(self, size: int) -> None:
        """Count some more."""
        self._read += size
        self._report(self._read >> 20, max(1, self._total >> 20))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # whoever reads it next tells of it
        return 0


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
    agent: str | None = None
    """Its name in a journal; None of a transcript."""


class _Replayer:
    """Replays sessions under the configuration that holds here.

    Args:
        timeline: Whether to print what happened in each.
        here: Whether links and files are looked up as they are now.
        then: Whether a journal's calls are reviewed by the policy that counted then.
        against: A file of keys to try beside today's; None for none.
        read: Told how many bytes were read.
    """

    def __init__(
        self, timeline: bool, here: bool, then: bool, against: Path | None, read: Callable[[int], object]
    ) -> None:
        config = common.configuration_to_load().config
        self._today, self._then = config, then
        self._clock = Clock()
        self._here = here
        self._reviewer: Reviewer = make_gate_reviewer(
            ReviewerSetup.of(config), self._clock, facts=FileFacts() if here else NoFiles()
        )
        self._read = read
        self._compared: ComparedReviewer | None = None
        if against is not None:
            tried = config_to_try(against, config)
            reviewer = make_gate_reviewer(
                ReviewerSetup.of(tried), self._clock, facts=FileFacts() if here else NoFiles()
            )
            self._reviewer = self._compared = ComparedReviewer(reviewer, self._reviewer)
            config = tried
        self._make_detectors = MakeDetectors.of(config)
        self._settings, self._brought = controller_settings(config), PluginInterventions(config)
        self._timeline = timeline
        self.unread = 0
        """Recordings that could not be read."""

    def sessions(self, recording: tuple[Path, ...]) -> Iterator[dict[str, Any]]:
        """Replay a recording, and yield the contract's object of each session in it.

        A recording that cannot be read is reported and counted.
        """
        began = self._clock.mono()
        try:
            found = self._of_journal(recording) if _is_journal(recording[0]) else [self._of_transcript(recording[0])]
        except OSError as error:
            terminal.echo(f"chaperon: {recording[0]} cannot be read: {error}; it was left out.", err=True)
            self.unread += 1
            return
        for session in found:
            if self._timeline:
                _tell(session)
            if not self._here and session.result.actions:
                session.result.lacks = (*session.result.lacks, FILES)
            answer = partial(self._answer, session.task)
            made = session.result.as_json(session.path, self._clock.mono() - began, answer)
            yield made if self._compared is None else {**made, "against": self._compared.of(session.agent)}
            began = self._clock.mono()

    def _of_transcript(self, path: Path) -> _Session:
        with path.open("rb") as lines:
            task = recorded_task(lines)
        notes = _Notes()
        watch = notes.seen.append if self._timeline else None
        with path.open("rb") as lines:
            told = _telling(lines, self._read)
            return _Session(str(path), task, replay(told, self._reviewer, self._make_detectors(task), watch), notes)

    def _of_journal(self, segments: tuple[Path, ...]) -> list[_Session]:
        """Every agent that the journal has from its beginning; its path is followed by the agent's name.

        Damaged lines may belong to any agent; they are reported with the first.
        """
        notes, damaged = dict[str, _Notes](), Counter[str]()
        policies = _Policies(self._today, segments[0].parent.parent / "policies", self._reviewer, self._made)

        def make(submitted: events.TaskSubmitted) -> Sequence[Detector]:
            notes[submitted.agent] = _Notes()
            detectors = policies.make_detectors(submitted.task, submitted.workspace, submitted.factors)
            return (*detectors, *([notes[submitted.agent]] if self._timeline else []))

        opened = make_opener(self._today, segments[0].parent.parent, os.environ, self._clock)
        recorded = _events(segments, damaged, self._read, opened)
        if self._compared is not None:
            recorded = self._compared.following(recorded)
        then = policies.reviewer if self._then and self._compared is None else None
        runs = list(rerun(recorded, self._reviewer, make, then))
        for run in runs[:1]:
            run.result.damaged = damaged.total()
        for run in runs:
            lacking = [policies.lacking[digest] for digest in run.result.policies if digest in policies.lacking]
            run.result.lacks = (*run.result.lacks, *dict.fromkeys(lacking))
            if then is None:
                run.result.policies = ("",) if run.result.actions else ()
        place = segments[0] if len(segments) == 1 else segments[0].parent
        return [_Session(f"{place}#{run.agent}", run.task, run.result, notes[run.agent], run.agent) for run in runs]

    def _made(self, config: Config) -> tuple[Reviewer, MakeDetectors]:
        facts = FileFacts() if self._here else NoFiles()
        return make_gate_reviewer(ReviewerSetup.of(config), self._clock, facts=facts), MakeDetectors.of(config)

    def _answer(self, task: Task, issue: Issue) -> str | None:
        """Return the controller's choice for the issue alone, with no earlier attempts."""
        plugins, strategy = self._brought.answers(task), self._brought.strategy(task)
        controller = Controller(self._settings, task, None, plugins, strategy)
        controller.issue_seen(Stamp(seq=1, at=0.0, mono=0.0), issue)
        due = controller.next(Situation(agent="replay", task=task, id="replay-1", mono=0.0))
        return due.kind if isinstance(due, Intervention) else None


class _Policies:
    """The policies of a journal, as they come in it.

    Args:
        today: The configuration that holds here.
        folder: Where policies are kept.
        reviewer: Today's.
        made: Makes reviewer and detectors of a configuration; raises what a plugin raises.
    """

    def __init__(
        self,
        today: Config,
        folder: Path,
        reviewer: Reviewer,
        made: Callable[[Config], tuple[Reviewer, MakeDetectors]],
    ) -> None:
        self._today, self._folder, self._made = today, folder, made
        self._usual = reviewer, MakeDetectors.of(today)
        self._known: dict[str, tuple[Reviewer, MakeDetectors]] = {}
        self.make_detectors = self._usual[1]
        """Those of the policy that counts now."""
        self.lacking: dict[str, str] = {}
        """Parts that are not as they were, by digest, in words."""

    def reviewer(self, digest: str) -> Reviewer:
        """The reviewer of the policy that counts from here on; today's if that policy is not there any more."""
        if digest not in self._known:
            self._known[digest] = self._find(digest)
        reviewer, self.make_detectors = self._known[digest]
        return reviewer

    def _find(self, digest: str) -> tuple[Reviewer, MakeDetectors]:
        kept = kept_policy(self._folder, digest, self._today) if digest else None
        if kept is None:
            self.lacking[digest] = POLICY
            return self._usual
        if kept.changed:
            self.lacking[digest] = f"{', '.join(kept.changed)} of the time"
        try:
            return self._made(kept.config)
        except Exception as error:  # noqa: BLE001 - it runs plugins as they are today
            self.lacking[digest] = f"{POLICY} ({digest} cannot be used today: {error})"
            return self._usual


def _recordings(paths: Iterable[Path]) -> Iterator[tuple[Path, ...]]:
    """The files of each recording: one, but for a journal, whose segments in one directory belong together."""
    below = (sorted(_searched(path).rglob("*.jsonl")) if path.is_dir() else [path] for path in paths)
    files = [file for group in below for file in group if file.is_file()]
    for (_, is_journal), group in groupby(files, lambda file: (file.parent, _is_journal(file))):
        together = tuple(group)
        yield from [together] if is_journal else ((file,) for file in together)


def _searched(folder: Path) -> Path:
    """Return the folder whose files are read: of a state directory its journal, for the rest is no session."""
    journal = folder / "journal"
    return journal if any(map(_is_journal, journal.glob("*.jsonl"))) else folder


def _is_journal(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16).startswith((b'{"n":', b'{"first":'))
    except OSError:  # whoever reads it next tells of it
        return False


def _telling(lines: Iterable[bytes], read: Callable[[int], object]) -> Iterator[bytes]:
    """Yield lines, and tell how long each is."""
    for line in lines:
        read(len(line))
        yield line


def _events(
    segments: Iterable[Path],
    damaged: Counter[str],
    read: Callable[[int], object],
    opened: Callable[[bytes], bytes],
) -> Iterator[tuple[int, events.AnyEvent]]:
    """The events of a journal with their numbers; lines that are damaged are counted and passed over."""
    for segment in segments:
        with segment.open("rb") as lines:
            for line in _telling(lines, read):
                if not line.strip() or line.startswith(b'{"first":'):
                    continue
                try:
                    record = records.decode(opened(line))
                except records.RecordError:
                    damaged[segment.name] += 1
                    continue
                if not isinstance(record.event, records.UnknownEvent):
                    yield record.n, record.event


def _totals(result: dict[str, Any]) -> dict[str, int]:
    return {
        "sessions": int(bool(result["events"])),  # a file without a line of one is none
        "sessions_with_issues": int(bool(result["issues"])),
        "events": result["events"],
        "actions": result["actions"],
        "issues": len(result["issues"]),
        "damaged_lines": result["lines"]["damaged"],
        "foreign_lines": result["lines"]["foreign"],
        **{f"decided_{name}": number for name, number in result["reviews"].items()},
    }


def _table(results: list[dict[str, Any]], totals: Mapping[str, int], show_all: bool) -> None:
    """The sessions in which something was seen, worst first."""
    rows = sorted(results, key=_badness, reverse=True)
    listed = [one for one in rows if show_all or one["issues"] or one["reviews"].get("block")]
    for line in table(COLUMNS, [_row(one) for one in listed]) if listed else ():
        terminal.echo(line)
    healthy = totals["sessions"] - totals["sessions_with_issues"]
    terminal.echo(f"{counted(totals['sessions'], 'session')} replayed, {healthy:,} without an issue.")
    if unread := totals["damaged_lines"] + totals["foreign_lines"]:
        terminal.echo(f"{counted(unread, 'line')} damaged or no line of a session, and passed over.")
    for text in _of_reviews(results):
        terminal.echo(text)


def _of_reviews(results: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the calls whose decision would differ now, and the facts that reviews lacked."""
    changed = [(one["path"], each) for one in results for each in one["changed"]]
    if changed:
        first = "; ".join(
            f"event {c['at_event']} of {path}: {c['was']}, now {c['is']}" for path, c in changed[:MAX_CHANGED]
        )
        yield f"{counted(len(changed), 'call')} would be decided otherwise than then: {first}."
    tried = [each for one in results for each in one.get("against", ())]
    if tried:
        shown_first = "; ".join(f"{c['was']}, then {c['is']}: {clean(c['call'], 80)}" for c in tried[:MAX_CHANGED])
        yield f"{counted(len(tried), 'call')} would be decided otherwise by the policy that is tried: {shown_first}."
    elif any("against" in one for one in results):
        yield "Every call would be decided as it is today by the policy that is tried."
    if lacks := dict.fromkeys(lack for one in results for lack in one["lacks"]):
        looked_up = " --here looks links and files up as they are now." if FILES in lacks else ""
        yield f"Not known of the moment: {'; '.join(lacks)}.{looked_up}"


def _row(one: Mapping[str, Any]) -> list[str]:
    worst = max(one["issues"], key=_rank, default=None)
    return [
        f"{len(one['issues']):,}",
        f"{one['reviews'].get('block', 0):,}",
        f"{one['actions']:,}",
        f"{worst['type']} ({worst['severity']})" if worst else "-",
        (worst and worst["intervention"]) or "-",
        one["path"],
    ]


def _rank(issue: Mapping[str, Any]) -> int:
    return Severity(issue["severity"]).rank


def _badness(result: Mapping[str, Any]) -> tuple[int, int, int]:
    worst = max(map(_rank, result["issues"]), default=-1)
    return worst, len(result["issues"]), result["reviews"].get("block", 0)


def _tell(session: _Session) -> None:
    """Print a session's timeline: what happened, what would have been stopped, and issues as they came and went."""
    told = [(seq, f"{review.decision:<8} {clean(review.reasoning)}") for seq, review in session.result.stopped]
    told += [(one.seq, text) for one in session.notes.seen if (text := _timeline_line(one))]
    told += [(at.at_event, _raised(at.issue)) for at in session.result.issues]
    times = {one.seq: one.mono for one in session.notes.seen}
    terminal.echo(session.path)
    for seq, text in sorted(told, key=lambda line: line[0]):
        terminal.echo(f"{seq:>6} {timedelta(seconds=int(times.get(seq, 0)))!s:>8} {text}")


def _timeline_line(seen: Observation) -> str:
    """One line of a timeline; empty for what says nothing to a person."""
    match seen:
        case UserSpoke():
            return f"told     {clean(seen.text)}"
        case TaskReplaced():
            return f"task     {clean(seen.task.prompt)}"
        case AgentSpoke():
            return f"says     {clean(seen.text)}"
        case ToolReturned():
            mark = "refused" if seen.refused else "failed" if seen.failed else "ran"
            return f"{mark:<8} {seen.tool} {clean(what(seen.input), 80)} → {clean(seen.text, 80)}"
        case _:
            return ""


def _raised(issue: Issue) -> str:
    return f"{'over' if issue.closed else 'issue':<8} {issue.type} ({issue.severity}): {clean(issue.sentence)}"
