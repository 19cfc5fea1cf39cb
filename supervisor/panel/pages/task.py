"""The page of one stored task: what it asks for, its runs, its merge, and its states with who and why."""

from collections.abc import Iterable, Iterator, Sequence

import htpy as h

from monitors.contract.wording import counted
from supervisor.cli.output.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.merges import conflict_list, merge_buttons
from supervisor.panel.pages.parts import (
    Data,
    age,
    agent_link,
    ask,
    badge,
    block,
    bounded,
    empty,
    facts,
    moment,
    path,
    post,
)
from supervisor.panel.pages.tasks import task_link
from supervisor.panel.task_groups import DUE, verbs

SENTENCE = 2_000
"""Characters of a sentence that are shown."""

MOST_ENTRIES = 200
"""Runs, steps and other tasks that are shown, the latest; `chaperon task show` has all."""

HEADED = ("id", "prompt", "repository", "priority", "depends_on", "labels")
"""Fields of the spec that the page shows by itself; it shows all others by their names."""

NAMES = {"with_agent": "Submitted with its agent"}
"""Names of fields that do not speak for themselves."""

WHEN = "%m-%d %H:%M:%S"


def task_page(frame: PageFrame, task: Data, merges: Sequence[Data]) -> h.Element:
    """The page.

    Args:
        frame: Of this request.
        task: All that the daemon knows of it.
        merges: The merges of its work.
    """
    id_ = str(task["task"])
    return page(
        frame,
        clean(id_, 60),
        h.div(id="task")[task_body(task, merges)],
        live=f"/live{path('tasks', id_)}",
        here="Tasks",
    )


def task_body(task: Data, merges: Sequence[Data]) -> h.Fragment:
    """The part that changes."""
    id_ = str(task["task"])
    return h.fragment[
        h.div(class_="title")[
            h.h1[clean(id_, 60)], badge(str(task["state"])), h.span(class_="muted")[age(task["changed_at"])]
        ],
        h.p[clean(task["why"], SENTENCE), " ", h.span(class_="muted")[f"(by {clean(task['by'], 60)})"]],
        h.p(class_="muted")[clean(task["held_back"], SENTENCE)] if task["held_back"] else None,
        h.div(class_="buttons")[_buttons(id_, task), [merge_buttons(one) for one in merges if one["phase"] in DUE]],
        h.h2["Prompt"],
        block(task["prompt"]),
        facts(_facts(task)),
        [_merge(one) for one in merges],
        h.h2["Runs"],
        _runs(task),
        h.h2["History"],
        h.ol(class_="timeline")[(_step(one) for one in _latest(task["history"]))],
    ]


def _buttons(id_: str, task: Data) -> Iterator[h.Element]:
    can = verbs(task)
    if "retry" in can:
        yield post("Retry", path("tasks", id_, "retry"))
    if task["state"] == "pending":
        yield post("First in the queue", path("tasks", id_, "reorder"), body={"place": "first"})
        yield post("Last in the queue", path("tasks", id_, "reorder"), body={"place": "last"})
    if "cancel" in can:
        yield ask("Change…", "edit", path("tasks", id_, "edit"), title=f"Change what {clean(id_, 60)} asks for")
        yield ask("Cancel…", "cancel", path("tasks", id_, "cancel"), kind="bad", title=f"Cancel {clean(id_, 60)}")


def _facts(task: Data) -> Iterator[tuple[str, h.Node]]:
    yield "Repository", h.code[clean(task["repository"], 400)]
    yield "Priority", f"{task['priority']:,}"
    yield "Labels", clean(", ".join(map(str, task["labels"])), SENTENCE)
    yield "Attempts", f"{task['attempts']:,}" if task["attempts"] else ""
    yield "Not before", moment(task["not_before"], WHEN)
    for name in ("depends_on", "waits_for", "needed_by"):
        yield _named(name), _links(task[name])
    for name, value in task["spec"].items():
        if name not in HEADED:
            yield NAMES.get(name) or _named(clean(name, 60)), _value(name, value)
    yield "Added", moment(task["added_at"], WHEN)


def _named(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _links(ids: Sequence[object]) -> h.Node:
    if not ids:
        return ""
    more = len(ids) - MOST_ENTRIES
    return h.fragment[
        ([task_link(str(one)), " "] for one in ids[:MOST_ENTRIES]), f"and {more:,} more" if more > 0 else None
    ]


def _value(name: str, value: object) -> h.Node:
    if value == "" and name == "verify":  # of its own, whatever is configured
        return "none"
    if value is None or value is False or value in ("", [], {}):
        return ""
    if value is True:
        return "yes"
    if isinstance(value, list):
        return h.ul[(h.li[clean(one, SENTENCE)] for one in value[:MOST_ENTRIES])]
    if isinstance(value, dict):
        return h.code[bounded(value, SENTENCE)]
    return clean(value, SENTENCE)


def _merge(merge: Data) -> h.Element:
    check = merge.get("check")
    return h.section(aria_label=f"Merge of {clean(merge['id'], 60)}")[
        h.h2["Merge ", badge(str(merge["phase"]))],
        h.p[clean(merge["why"], SENTENCE)],
        facts(
            (
                ("Agent", agent_link(str(merge["id"]))),
                ("From", h.code[clean(merge["branch"], 200)]),
                ("Into", h.code[clean(merge["target"], 200)]),
                ("Size", f"{counted(merge['commits'], 'commit')}, {counted(merge['files'], 'file')}"),
                ("Asked by", clean(merge["by"], 60)),
                ("Conflicts", conflict_list(merge["conflicts"])),
                ("Check", f"{clean(check['command'], 400)}: {clean(check['outcome'], 20)}" if check else ""),
                ("Since", moment(merge["at"], WHEN)),
            )
        ),
        h.details[h.summary["What the check printed"], block(check["output"])] if check and check["output"] else None,
    ]


def _runs(task: Data) -> h.Element:
    runs = task["runs"]
    if not runs:
        return empty("No agent has claimed it yet.")
    return h.ol(class_="timeline", reversed=True)[(_run(one) for one in _latest(runs))]


def _run(run: Data) -> h.Element:
    end = f"{run['outcome']}: {run['why']}" if run["outcome"] else "has it now"
    return h.li[
        moment(run["began_at"], WHEN),
        h.div[
            h.p[agent_link(str(run["agent"])), " ", clean(end, SENTENCE)],
            h.p(class_="muted small")[
                clean(run["run_id"], 60), [", until ", moment(run["ended_at"], WHEN)] if run["ended_at"] else None
            ],
            h.p(class_="muted")[clean(run["rework"], SENTENCE)] if run["rework"] else None,
        ],
    ]


def _step(entry: Data) -> h.Element:
    return h.li[
        moment(entry["at"], WHEN),
        h.div[
            h.p[badge(str(entry["state"])), " by ", clean(entry["by"], 60)],
            h.p[clean(entry["why"], SENTENCE)],
            h.p(class_="small")[agent_link(str(entry["worker"]))] if entry["worker"] else None,
        ],
    ]


def _latest(entries: Sequence[Data]) -> Iterable[Data]:
    return list(reversed(entries))[:MOST_ENTRIES]
