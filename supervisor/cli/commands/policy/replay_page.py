"""The report of a replay as one HTML file, with charts. It needs htpy, which comes with the extra [panel]."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import htpy as h

from monitors.contract.wording import counted, duration
from supervisor.cli.output.charts import bar_chart
from supervisor.cli.output.html_file import html_file, html_table
from supervisor.cli.output.words import clean

MOST_ROWS = 500
"""Rows of a table; the counts are of all."""

SENTENCE = 400
"""Characters of a sentence that are shown."""

Result = Mapping[str, Any]


def replay_page(results: Sequence[Result]) -> str:
    """Return the file."""
    decisions: Counter[str] = Counter()
    issues: Counter[str] = Counter()
    for one in results:
        decisions.update(one["reviews"])
        issues.update(issue["type"] for issue in one["issues"])
    calls, events = sum(one["actions"] for one in results), sum(one["events"] for one in results)
    recorded = sum(one["recorded_seconds"] for one in results)
    results, place = _named_shortly(results)
    against = [(one["path"], call) for one in results for call in one.get("against", ())]
    changed = [(one["path"], call) for one in results for call in one["changed"]]
    lacks = sorted({str(lack) for one in results for lack in one["lacks"]})
    return html_file(
        "Replay",
        h.p[
            f"{counted(len(results), 'session')} with {counted(calls, 'call')} and {counted(events, 'event')}, "
            f"recorded over {duration(recorded)}."
        ],
        h.p(class_="muted")["Sessions are named as they are in ", h.code[clean(place, SENTENCE)], "."]
        if place
        else None,
        h.p(class_="muted")[clean(f"Not known of the moment: {'; '.join(lacks)}.", 1_000)] if lacks else None,
        h.h2["Decisions"],
        bar_chart("Calls by decision", _bars(decisions)) or h.p["No call was reviewed."],
        h.h2["Issues"],
        bar_chart("Issues by pattern", _bars(issues)) or h.p["None."],
        _table("Issues", ("Session", "Event", "Pattern", "Severity", "Answer", "What"), _issues(results)),
        h.h2["Calls that the policy that is tried decides otherwise"] if against else None,
        _table("Tried", ("Session", "Event", "Was", "Would be", "Rule", "Call", "Why"), map(_tried, against)),
        h.h2["Calls that would be decided otherwise than then"],
        _table("Changed", ("Session", "Event", "Then", "Now"), map(_changed, changed)) or h.p["None."],
        h.h2["Sessions"],
        _table(
            "Sessions",
            ("Session", "Events", "Calls", "Blocked", "Issues", "Recorded"),
            (_session(one) for one in results),
        ),
    )


def _named_shortly(results: Sequence[Result]) -> tuple[Sequence[Result], str]:
    """Return the results with short names, and what these are below of; empty if the names are as before.

    Agents of one journal are named alone, other sessions by their files below the folder that all are in.
    """
    paths = [str(one["path"]) for one in results]
    files = {path.rpartition("#")[0] for path in paths}
    if len(files) == 1 and "" not in files:
        (below,) = files
        names = [path.rpartition("#")[2] for path in paths]
    else:
        folders = {str(Path(path).parent) for path in paths}
        below = os.path.commonpath(folders) if folders and all(map(os.path.isabs, folders)) else ""
        if below in ("", os.sep):
            return results, ""
        names = [os.path.relpath(path, below) for path in paths]
    return [{**one, "path": name} for one, name in zip(results, names, strict=True)], below


def _bars(counts: Counter[str]) -> list[tuple[str, float, str]]:
    return [(clean(name, 20), float(number), f"{number:,}") for name, number in counts.most_common(16)]


def _issues(results: Sequence[Result]) -> Iterator[Sequence[str]]:
    for one in results:
        for issue in one["issues"]:
            answer = str(issue["intervention"] or "-")
            place = clean(one["path"], 200), f"{issue['at_event']:,}"
            yield *place, clean(issue["type"]), str(issue["severity"]), answer, clean(issue["sentence"], SENTENCE)


def _tried(found: tuple[str, Result]) -> Sequence[str]:
    path, call = found
    why = clean(call["reasoning"], SENTENCE)
    shown = clean(call["call"], SENTENCE)
    return clean(path, 200), f"{call['at_event']:,}", str(call["was"]), str(call["is"]), clean(call["rule"]), shown, why


def _changed(found: tuple[str, Result]) -> Sequence[str]:
    path, call = found
    return clean(path, 200), f"{call['at_event']:,}", str(call["was"]), str(call["is"])


def _session(one: Result) -> Sequence[str]:
    counts = (one["events"], one["actions"], one["reviews"].get("block", 0), len(one["issues"]))
    return clean(one["path"], 200), *(f"{number:,}" for number in counts), duration(one["recorded_seconds"])


def _table(name: str, head: Sequence[str], rows: Iterator[Sequence[str]]) -> h.Node:
    made = list(rows)
    if not made:
        return None
    more = len(made) - MOST_ROWS
    return h.fragment[
        html_table(name, head, (h.tr[(h.td[cell] for cell in row)] for row in made[:MOST_ROWS])),
        h.p(class_="muted")[f"… and {more:,} more (--json has all)"] if more > 0 else None,
    ]
