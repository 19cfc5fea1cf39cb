"""The page of one agent: its state and buttons, what it uses, what it changed, and its timeline."""

from collections.abc import Sequence

import htpy as h

from monitors.contract.wording import dollars, duration
from supervisor.cli.output import agent_words
from supervisor.cli.output.words import clean
from supervisor.panel.pages.agents.board import agent_buttons, waiting_section
from supervisor.panel.pages.agents.proposals import proposals_section
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.merges import merges_section
from supervisor.panel.pages.parts import Data, age, ask, badge, empty, facts, lasted, moment, path
from supervisor.panel.pages.tasks import task_link

SENTENCE = 2_000
"""Characters of a sentence that are shown."""


def agent_page(
    frame: PageFrame,
    agent: Data,
    waiting: Sequence[Data],
    merges: Sequence[Data],
    changes: Data | None,
    rows: Sequence[h.Element],
    *,
    last: int,
    earlier: int,
) -> h.Element:
    """The page.

    Args:
        frame: Of this request.
        agent: What the daemon knows of it.
        waiting: Its actions that wait for a person.
        merges: The merge of its branch, if that waits for one.
        changes: The changes of its workspace; None if they are not known.
        rows: Of its timeline, oldest first.
        last: The last event that was looked at for them.
        earlier: The first event that was looked at; 0 if there are none before.
    """
    name = str(agent["agent"])
    return page(
        frame,
        clean(name, 60),
        h.div(id="agent")[agent_head(agent, waiting, merges)],
        h.section(aria_labelledby="use-title")[
            h.h2(id="use-title")["Use over time"],
            h.div(
                id="use",
                data_part=f"{path('agents', name)}/use?part=1",
                data_again=agent["ended_at"] is None,
                aria_busy="true",
            )[h.p(class_="muted")[h.a(href=f"{path('agents', name)}/use")["Charts"]]],
        ],
        h.section(aria_labelledby="files-title")[h.h2(id="files-title")["Files"], changed_files(name, changes)],
        h.section(aria_labelledby="timeline-title")[
            h.h2(id="timeline-title")["Timeline"],
            h.ol(id="timeline", class_="timeline", reversed=True, data_last=str(last))[tuple(reversed(rows))],
            empty("Nothing has happened yet.") if not rows else None,
            h.p[h.a(href=f"{path('agents', name)}?before={earlier}#timeline-title")["Earlier"]] if earlier else None,
        ],
        live=f"/live{path('agents', name)}",
        here="Board",
    )


def agent_head(agent: Data, waiting: Sequence[Data], merges: Sequence[Data]) -> h.Fragment:
    """The part that changes."""
    name = str(agent["agent"])
    return h.fragment[
        h.div(class_="title")[h.h1[clean(name, 60)], badge(str(agent["state"])), h.span(class_="muted")[lasted(agent)]],
        h.p(class_="task")[clean(agent["task"]["prompt"], SENTENCE)],
        h.p(class_="muted")[clean(agent.get("api") or agent["why"], SENTENCE)],
        h.div(class_="row", data_open=path("agents", name))[agent_buttons(agent)],
        waiting_section(waiting),
        proposals_section([agent]),
        merges_section(merges),
        _now(agent),
        h.div(class_="columns")[_work(agent), _use(agent)],
    ]


def _now(agent: Data) -> h.Node:
    calls = agent.get("calls") or ()
    said = agent["result"] if agent["ended_at"] is not None and agent["result"] else agent.get("words", "")
    return h.fragment[
        [h.p["Runs ", h.code[clean(f"{one['tool']} {one['summary']}", 300)], " ", age(one["since"])] for one in calls],
        h.blockquote[clean(said, SENTENCE)] if said else None,
    ]


def _work(agent: Data) -> h.Element:
    todo = agent.get("todo") or ()
    return h.section(aria_label="Work")[
        facts(
            (
                ("Task", task_link(str(agent["stored_task"])) if agent.get("stored_task") else ""),
                ("Calls", agent_words.calls(agent["reviews"])),
                ("Issues", _issues(agent)),
                ("Interventions", _counts(agent["interventions"])),
                ("Incidents", _incidents(agent["incidents"])),
                (
                    "Own list",
                    h.ul[(h.li(class_=str(one["state"]))[clean(one["text"], 200)] for one in todo)] if todo else "",
                ),
                ("Workspace", h.code[clean(agent["workspace"], 400)]),
                ("Branch", clean(agent["branch"])),
                ("Session", clean(agent["session_id"])),
            )
        )
    ]


def _issues(agent: Data) -> h.Node:
    """The issues by type, each with the button by which a person says whether it was right."""
    if not agent["issues"]:
        return ""
    target = path("agents", str(agent["agent"]), "outcomes")
    return h.ul[
        (
            h.li[
                f"{clean(name)} {number:,} ",
                h.span(class_="muted")[clean(agent["said"][name], 40).replace("_", " ")]
                if name in agent["said"]
                else None,
                " ",
                ask("Was it right?", "outcome", target, title=f"{clean(name)}: was it right?", body={"pattern": name}),
            ]
            for name, number in agent["issues"].items()
        )
    ]


def _incidents(ids: Sequence[str]) -> h.Node:
    return h.fragment[([h.a(href=path("incidents", one))[one], " "] for one in ids)] if ids else ""


def _use(agent: Data) -> h.Element:
    used, window = agent["context_tokens"], agent["context_window"]
    limit = agent["task"].get("limits", {}).get("max_cost_usd")
    cost = agent["cost_usd"]
    tokens = f"{agent['input_tokens']:,} in, {agent['cached_tokens']:,} from cache, {agent['output_tokens']:,} out"
    return h.section(aria_label="Use")[
        facts(
            (
                (
                    "Cost",
                    ""
                    if cost is None
                    else [dollars(cost), f" of {dollars(limit)}" if limit else "", _meter(cost, limit, "Cost")],
                ),
                ("Tokens", tokens if agent["input_tokens"] + agent["cached_tokens"] else ""),
                (
                    "Context",
                    [f"{used / window:.0%} of {window:,} tokens", _meter(used, window, "Context")]
                    if window and used
                    else "",
                ),
                (
                    "Memory",
                    f"{agent['memory_mb']:,.0f} MiB, at most {agent['peak_memory_mb']:,.0f} MiB"
                    if agent["peak_memory_mb"]
                    else "",
                ),
                ("Processes", f"{agent['processes']:,}" if agent["processes"] else ""),
                ("CPU time", duration(agent["cpu_seconds"]) if agent["cpu_seconds"] else ""),
                ("Model", clean(agent["model"])),
                ("Ended", moment(agent["ended_at"], "%Y-%m-%d %H:%M:%S")),
            )
        )
    ]


def _meter(value: float, most: float | None, label: str) -> h.Node:
    return h.meter(min="0", max=str(most), value=str(value), high=str(0.8 * most), aria_label=label) if most else None


def _counts(counts: Data) -> str:
    return ", ".join(f"{clean(name)} {number:,}" for name, number in counts.items())


def changed_files(name: str, changes: Data | None) -> h.Node:
    """The files that an agent changed, and the button for a checkpoint."""
    keep = ask(
        "Keep a checkpoint…",
        "checkpoint",
        path("agents", name, "checkpoints"),
        title=f"Keep the present of {clean(name, 60)}",
    )
    if changes is None:
        return empty("No checkpoint tells what changed.")
    total = sum(int(number) for number in changes["counts"].values())
    how = ", ".join(f"{number:,} {agent_words.CHANGED.get(kind, kind)}" for kind, number in changes["counts"].items())
    links = [
        h.a(href=path("agents", name, "diff"))["Show the content"] if total else None,
        h.a(href=f"/checkpoints?agent={path(name)[1:]}")["Its checkpoints"],
    ]
    return h.fragment[
        h.p[f"{how}{agent_words.shared(changes)}" if how else "None changed."],
        h.details(open=total <= 10)[h.summary["Paths"], h.ul(class_="paths")[(_path(one) for one in changes["paths"])]]
        if total
        else None,
        h.div(class_="buttons")[keep, links],
    ]


def _path(one: Data) -> h.Element:
    return h.li(class_=str(one["change"]))[
        h.code[clean(one["path"], 300)], " ", h.span(class_="muted")[agent_words.CHANGED.get(str(one["change"]), "")]
    ]
