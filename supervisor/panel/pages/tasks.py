"""The list of stored tasks: what waits for a person on top, then all others by state, one page at a time."""

from collections.abc import Iterator
from dataclasses import replace

import htpy as h

from supervisor.cli.output.html_file import html_table
from supervisor.cli.output.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, age, agent_link, ask, badge, choice, empty, path
from supervisor.panel.task_groups import TaskListPage, TaskSection
from supervisor.protocol.tasks import TaskState

COLUMNS = ("Task", "State", "Since", "Agent", "Priority", "Repository", "Prompt", "Why")


def tasks_page(frame: PageFrame, found: TaskListPage) -> h.Element:
    """The page."""
    return page(
        frame,
        "Tasks",
        h.h1["Tasks"],
        h.div(class_="buttons")[
            ask("Add a task…", "new-task", "/tasks", kind="main", title="Add a task"),
            h.a(href="/discoveries")["What agents noted for others"],
        ],
        _choice(found),
        h.div(id="tasks")[tasks_list(found)],
        live=found.query.address("/live/tasks"),
        here="Tasks",
    )


def _choice(found: TaskListPage) -> h.Element:
    query = found.query
    return h.form(method="get", class_="buttons")[
        choice("State", "state", [str(one) for one in TaskState], query.state),
        choice("Repository", "repository", found.repositories, query.repository),
        choice("Label", "label", found.labels, query.label) if found.labels or query.label else None,
        h.button(type="submit")["Show"],
    ]


def tasks_list(found: TaskListPage) -> h.Fragment:
    """The part that changes."""
    return h.fragment[
        h.div(id="figures", class_="figures")[_figures(found)],
        [_section(one) for one in found.sections]
        or empty('No stored task is like this. Add one with: chaperon task add "PROMPT" --repo DIR'),
        _pages(found),
    ]


def _figures(found: TaskListPage) -> Iterator[h.Element]:
    for state in TaskState:
        if number := found.counts.get(str(state), 0):
            target = replace(found.query, state=str(state), page=1).address()
            yield h.span[h.b[f"{number:,}"], " ", h.a(href=target)[str(state)]]


def _section(section: TaskSection) -> h.Element:
    title = f"group-{section.name.lower().replace(' ', '-')}"
    return h.section(id=f"section-{title}", aria_labelledby=title)[
        h.h2(id=title)[f"{section.name} ", h.small[f"{section.total:,}"]],
        html_table(section.name, COLUMNS, map(_row, section.tasks)),
    ]


def _row(task: Data) -> h.Element:
    id_, repository = str(task["task"]), str(task["repository"])
    return h.tr(id=f"task-{id_}", class_="row", tabindex="-1", data_open=path("tasks", id_))[
        h.td[task_link(id_)],
        h.td[badge(str(task["state"]))],
        h.td[age(task["changed_at"])],
        h.td[agent_link(str(task["agent"])) if task["agent"] else "-"],
        h.td(class_="number")[f"{task['priority']:,}"],
        h.td(title=clean(repository, 400))[clean(repository.rstrip("/").rpartition("/")[2], 60)],
        h.td[clean(task["prompt"], 120)],
        h.td[clean(task["why"], 160)],
    ]


def task_link(id_: str) -> h.Element:
    """A link to a task's page."""
    return h.a(href=path("tasks", id_))[clean(id_, 60)]


def _pages(found: TaskListPage) -> h.Node:
    if found.pages == 1:
        return None
    number = found.query.page

    def link(label: str, to: int) -> h.Node:
        return h.a(href=replace(found.query, page=to).address())[label] if 1 <= to <= found.pages else None

    return h.nav(aria_label="Pages")[
        link("First", 1) if number > 2 else None,
        link("Earlier", number - 1),
        h.span(class_="muted")[f"Page {number:,} of {found.pages:,}"],
        link("Later", number + 1),
        link("Last", found.pages) if number < found.pages - 1 else None,
    ]
