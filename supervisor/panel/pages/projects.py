"""Checkpoints of whole projects: the list of them, one with the plan of going back, and the forms that do both."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import htpy as h

from monitors.contract.wording import counted
from supervisor.cli.output.html_file import html_table
from supervisor.cli.output.words import MADE, clean, comes_back
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, agent_link, ask, check_field, empty, facts, moment, path, typed_dialog

SHOWN = 100
"""Entries of a list that are shown; the count is of all."""

LISTS: Mapping[str, str] = {
    "under_way": "Tasks under way, which go back",
    "finished": "Tasks that were done since",
    "agents_back": "Agents that go back and go on",
    "closed": "Worktrees that go; their content is kept",
    "made_again": "Worktrees that come back",
}
"""Lists of a plan, and their titles."""

PAIRS: Mapping[str, str] = {
    "tasks": "Tasks that change",
    "stay_done": "Tasks that stay done, since their work is in a branch",
    "agents_ended": "Agents that are ended",
}
"""Lists of a plan that have names with a word for each."""


def project_address(name: str, project: str) -> str:
    """The address of a project checkpoint's page."""
    return f"{path('projects', name)}?{urlencode({'project': project}, errors='replace')}"


def projects_page(frame: PageFrame, found: Sequence[Data]) -> h.Element:
    """The list, the latest first, and the form for another."""
    keep = ask("Keep a whole project…", "project", "/projects", kind="main", title="Keep a whole project")
    return page(
        frame,
        "Projects",
        h.h1["Checkpoints of whole projects"],
        h.p(class_="muted")[
            "Each holds all worktrees, branches, stored tasks and agents of a repository under one name. ",
            h.a(href="/checkpoints")["Those of single agents"],
            " are on a page of their own.",
        ],
        h.div(class_="buttons")[keep],
        _table(list(reversed(found))[:SHOWN]) if found else empty("There is none."),
        here="Checkpoints",
    )


def _table(found: Sequence[Data]) -> h.Element:
    head = ("Name", "When", "Made", "Worktrees", "Agents", "Tasks", "Project", "Note")
    return html_table("Checkpoints of projects", head, map(_row, found))


def _row(one: Data) -> h.Element:
    target = project_address(str(one["name"]), str(one["project"]))
    return h.tr(class_="row", tabindex="-1", data_open=target)[
        h.td[h.a(href=target)[clean(one["name"], 100)]],
        h.td[moment(one["at"], "%m-%d %H:%M:%S")],
        h.td[MADE.get(one["reason"], clean(one["reason"]))],
        h.td(class_="number")[f"{len(one['workspaces']):,}"],
        h.td[([agent_link(str(agent)), " "] for agent in one["agents"][:SHOWN])],
        h.td[f"{one['done']:,} of {one['done'] + one['tasks']:,} done"],
        h.td(title=clean(one["project"], 400))[clean(str(one["project"]).rstrip("/").rpartition("/")[2], 60)],
        h.td[clean(one["note"], 200)],
    ]


def project_page(frame: PageFrame, one: Data, plan: Data) -> h.Element:
    """One checkpoint of a project: what it holds, and the way back to it."""
    name, project = str(one["name"]), str(one["project"])
    body = {"project": project}
    return page(
        frame,
        clean(name, 80),
        h.div(class_="title")[h.h1[clean(name, 100)], h.span(class_="muted")[moment(one["at"], "%Y-%m-%d %H:%M:%S")]],
        facts(
            (
                ("Made", f"{MADE.get(one['reason'], clean(one['reason']))} ({clean(one['by'], 60)})"),
                ("Project", h.code[clean(project, 400)]),
                ("Worktrees", h.ul[(h.li[_worktree(each)] for each in one["workspaces"][:SHOWN])]),
                ("Agents", h.ul[(h.li[_agent(each)] for each in one["agents"][:SHOWN])] if one["agents"] else ""),
                ("Tasks", f"{len(one['tasks']):,} open, {len(one['done']):,} done"),
                ("Note", clean(one["note"], 500)),
            )
        ),
        h.div(class_="buttons")[
            ask(
                "Go back with the whole project…", "project-rollback", path("projects", name, "rollback"),
                kind="bad", title=f"Go back to {clean(name, 80)}", body=body,
            ),
            ask(
                "Forget it…", "confirm", path("projects", name, "forget"), title=f"Forget {clean(name, 80)}",
                question="Nobody can go back to it any more.", body=body,
            ),
        ],
        h.h2["What going back would do now"],
        plan_lists(plan),
        _dialog(name, plan),
        here="Checkpoints",
    )  # fmt: skip


def _worktree(mark: Data) -> str:
    stood = f"{str(mark['branch']).removeprefix('refs/heads/') or 'no branch'} at {mark['head'][:12] or 'no commit'}"
    return clean(f"{mark['path']} on {stood}", 500)


def _agent(mark: Data) -> h.Node:
    said = f"{mark['state']}, after {counted(mark['turns'], 'turn')}"
    return h.fragment[agent_link(str(mark["agent"])), " ", clean(said, 200)]


def plan_lists(plan: Data) -> h.Node:
    """The effect of a rollback, list by list."""
    made = [_list(title, [clean(one, 500) for one in plan[key]]) for key, title in LISTS.items()]
    made += [
        _list(title, [clean(f"{name}: {word}", 500) for name, word in plan[key].items()])
        for key, title in PAIRS.items()
    ]
    for one in plan["worktrees"]:
        title = f"{clean(one['path'], 300)}: {counted(one['count'], 'path')} lost here, and kept in a checkpoint"
        made.append(_list(title, [clean(each, 300) for each in one["lost"]]))
        made += [h.p[f"{clean(one['path'], 300)}: {comes_back(one['back'])}"]] if one["back"] else []
    made.append(_list("Branches", [_branch(one) for one in plan["branches"]]))
    made += [h.p(class_="error")[clean(warning, 500)] for warning in plan["warnings"]]
    shown = [one for one in made if one is not None]
    return h.fragment[shown] if shown else empty("Nothing would change.")


def _list(title: str, entries: Sequence[str]) -> h.Element | None:
    if not entries:
        return None
    return h.details(open=len(entries) <= 10)[
        h.summary[f"{title} ({len(entries):,})"], h.ul(class_="paths")[(h.li[one] for one in entries[:SHOWN])]
    ]


def _branch(one: Data) -> str:
    lost = counted(one["commits"], "commit")
    if not one["then"]:
        return clean(f"{one['name']} goes, with {lost}", 300)
    if not one["now"]:
        return clean(f"{one['name']} comes back at {one['then'][:12]}", 300)
    return clean(f"{one['name']} goes from {one['now'][:12]} to {one['then'][:12]}, and loses {lost}", 300)


def _dialog(name: str, plan: Data) -> h.Element:
    unusual = str(plan["unusual"])
    return typed_dialog(
        "project-rollback",
        name,
        h.p["What is there now is kept as a checkpoint of the project first, so that this can be undone."],
        plan_lists(plan),
        check_field("Move branches back as well", "with_branches"),
        [
            h.p(class_="error")[clean(unusual, 500)],
            check_field("I mean that", "unusual"),
        ]
        if unusual
        else None,
    )
