"""Checkpoints: the line of them, one with what changed since, and the dialog that goes back to it."""

from collections.abc import Mapping, Sequence

import htpy as h

from monitors.contract.wording import counted
from supervisor.cli.commands.agents.rollback import begins_anew
from supervisor.cli.output.agent_words import CHANGED
from supervisor.cli.output.html_file import html_table
from supervisor.cli.output.words import MADE, clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import (
    Data,
    agent_link,
    ask,
    check_field,
    empty,
    facts,
    line_field,
    moment,
    path,
    typed_dialog,
)

MOST_PATHS = 500
"""Paths that a list shows; the count is of all."""

PLAN = "plan"
"""The part of an address that opens the dialog with the plan of going back; `static/actions.js` reads it."""

MOST_ROWS = 500
"""Checkpoints that a list shows, the latest."""


def checkpoints_page(frame: PageFrame, kept: Sequence[Data], problems: Sequence[str], agent: str) -> h.Element:
    """The line of checkpoints, the latest first.

    Args:
        frame: Of this request.
        kept: Oldest first.
        problems: Stores that could not be read.
        agent: Whose they are; empty for all.
    """
    of = f" of {clean(agent, 60)}" if agent else ""
    return page(
        frame,
        f"Checkpoints{of}",
        h.h1[f"Checkpoints{of}"],
        h.p(class_="muted")["Those of ", h.a(href="/projects")["whole projects"], " are on a page of their own."],
        [h.p(class_="error")[problem] for problem in problems],
        _table(list(reversed(kept))[:MOST_ROWS]) if kept else empty("There is none. Agents make them as they work."),
        here="Checkpoints",
    )


def _table(kept: Sequence[Data]) -> h.Element:
    return html_table("Checkpoints", ("Name", "When", "Agent", "Made", "Project", "Note"), map(_row, kept))


def _row(one: Data) -> h.Element:
    of = one["facts"]
    project = str(one.get("project") or one["workspace"]).rstrip("/").rpartition("/")[2]
    target = address(str(one["name"]), str(of["agent"] or ""))
    return h.tr(class_="row", tabindex="-1", data_open=target)[
        h.td[h.a(href=target)[clean(one["name"], 100)]],
        h.td[moment(of["at"], "%m-%d %H:%M:%S")],
        h.td[agent_link(str(of["agent"])) if of["agent"] else "-"],
        h.td[MADE.get(of["reason"], clean(of["reason"]))],
        h.td[clean(project, 60)],
        h.td[clean(of["note"], 200)],
    ]


def address(name: str, agent: str) -> str:
    """The address of a checkpoint's page."""
    return path("checkpoints", name) + (f"?agent={path(agent)[1:]}" if agent else "")


def checkpoint_page(
    frame: PageFrame,
    one: Data,
    plan: Data | None,
    others: Sequence[str],
    other: str,
    changes: Sequence[Data],
    lacks: str,
) -> h.Element:
    """One checkpoint: what it holds, what changed since, and the way back to it.

    Args:
        frame: Of this request.
        one: The checkpoint.
        plan: Of a rollback to it; None if there can be none.
        others: Names of checkpoints to compare with.
        other: The one that is compared with; empty for the present.
        changes: From this one to the other.
        lacks: Reason why there is no plan, or no changes are known; empty if all is.
    """
    name, of, stood = str(one["name"]), one["facts"], one["repository"]
    health = of.get("health") or {}
    rate = health.get("success_rate")
    return page(
        frame,
        clean(name, 80),
        h.div(class_="title")[h.h1[clean(name, 100)], h.span(class_="muted")[moment(of["at"], "%Y-%m-%d %H:%M:%S")]],
        facts(
            (
                ("Made", MADE.get(of["reason"], clean(of["reason"]))),
                ("Agent", agent_link(str(of["agent"])) if of["agent"] else ""),
                ("Workspace", h.code[clean(one["workspace"], 400)]),
                (
                    "Branch",
                    f"{clean(stood['branch']).removeprefix('refs/heads/') or 'none'} at {stood['head'][:12] or 'no commit'}",
                ),
                ("Health", "" if rate is None else f"{rate:.0%} of the last calls succeeded"),
                ("Note", clean(of["note"], 500)),
            )
        ),
        h.div(class_="buttons")[
            ask(
                "Go back to it…",
                "rollback",
                path("checkpoints", name, "rollback"),
                kind="bad",
                title=f"Go back to {clean(name, 80)}",
                opened_by=PLAN,
            )
            if plan is not None
            else None,
            ask(
                "Write it elsewhere…",
                "confirm",
                path("checkpoints", name, "workspace"),
                title=f"Write {clean(name, 80)} into a new workspace",
                question="Its files are written into a new worktree on a branch of its own; no agent is touched.",
                body={"agent": str(of["agent"] or "")},
            ),
            ask(
                "Forget it…",
                "confirm",
                path("checkpoints", name, "forget"),
                title=f"Forget {clean(name, 80)}",
                question="Nobody can go back to it any more.",
                body={"agent": str(of["agent"] or "")},
            ),
        ],
        h.p(class_="error")[clean(lacks, 600)] if lacks else None,
        _rollback_dialog(name, plan) if plan is not None else None,
        h.h2[f"Changed from it to {clean(other, 80) or 'the present'}"],
        h.form(method="get", class_="buttons")[
            h.input(type="hidden", name="agent", value=str(of["agent"] or "")),
            h.label["Compare with ", h.select(name="other")[_choices(others, other)]],
            h.button(type="submit")["Compare"],
        ],
        paths(changes) if not lacks else None,
        here="Checkpoints",
    )


def _choices(others: Sequence[str], chosen: str) -> list[h.Element]:
    present = h.option(value="", selected=not chosen)["the present"]
    return [present, *(h.option(value=one, selected=one == chosen)[clean(one, 80)] for one in others)]


def paths(changes: Sequence[Data]) -> h.Node:
    """A list of changed paths."""
    if not changes:
        return empty("No file differs.")
    more = len(changes) - MOST_PATHS
    return h.fragment[
        h.p(class_="muted")[counted(len(changes), "path")],
        h.ul(class_="paths")[
            (
                h.li(class_=str(one["change"]))[
                    h.code[clean(one["path"], 300)],
                    " ",
                    h.span(class_="muted")[CHANGED.get(str(one["change"]), str(one["change"]))],
                ]
                for one in changes[:MOST_PATHS]
            )
        ],
        h.p(class_="muted")[f"… and {more:,} more"] if more > 0 else None,
    ]


def _rollback_dialog(name: str, plan: Data) -> h.Element:
    """The dialog that says what is lost, and wants the checkpoint's name typed."""
    lost = [one for one in plan["lost"] if one["change"] != "deleted"]
    back = [one for one in plan["lost"] if one["change"] == "deleted"]
    agent, unusual = str(plan["agent"]), str(plan["unusual"])
    became = "begins anew" if begins_anew(plan) else "goes back too"
    return typed_dialog(
        "rollback",
        name,
        h.p["What is there now is kept as a checkpoint first, so that this can be undone."],
        _listed(f"Lost here, and kept in that checkpoint ({len(lost):,})", lost),
        _listed(f"Comes back ({len(back):,})", back),
        h.p["The files are as they were then."] if not plan["lost"] else None,
        [h.p(class_="muted")[clean(f"Stays as it is: {one['path']}: {one['why']}", 400)] for one in plan["kept"][:20]],
        [h.p(class_="error")[clean(warning, 500)] for warning in plan["warnings"]],
        h.p[f"The conversation of {clean(agent, 60)} {became}, unless you leave it."] if plan["live"] else None,
        h.input(type="hidden", name="agent", value=agent),
        check_field("Leave the conversation as it is", "files_only"),
        check_field("Begin the conversation anew", "fresh"),
        check_field("Move the branch back as well", "with_branch"),
        [
            h.p(class_="error")[clean(unusual, 500)],
            check_field("I mean that", "unusual"),
        ]
        if unusual
        else None,
        line_field("What the agent is told beside the fact", "text"),
    )


def _listed(title: str, changes: Sequence[Data]) -> h.Node:
    if not changes:
        return None
    return h.details(open=len(changes) <= 10)[
        h.summary[title],
        h.ul(class_="paths")[
            (h.li(class_=str(one["change"]))[h.code[clean(one["path"], 300)]] for one in changes[:MOST_PATHS])
        ],
    ]


def rolled_back(done: Mapping[str, object]) -> str:
    """Return the sentence about a rollback that was done."""
    number = done["restored"]
    assert isinstance(number, int)
    return f"{counted(number, 'path was', 'paths were')} set back to {done['checkpoint']}. This page undoes it."
