"""The board: what waits for a person on top, then all agents by state."""

from collections.abc import Iterator, Sequence

import htpy as h

from monitors.contract.wording import counted, dollars
from supervisor.cli.words import clean, local, what
from supervisor.panel.grouping import attention, grouped, steps, verbs
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import (
    Data,
    age,
    agent_link,
    ask,
    badge,
    block,
    empty,
    lasted,
    path,
    post,
)

LIVE = "/live/board"

PAUSE = "Each is held at its next tool call, and so are those that start meanwhile."
DRAIN = "Agents that work go on; no other begins until you take tasks again."


def board_page(
    frame: PageFrame, agents: Sequence[Data], waiting: Sequence[Data], costs: Data, orders: Data
) -> h.Element:
    """The page."""
    return page(
        frame,
        "Board",
        h.h1(class_="hidden")["Board"],
        h.div(id="board")[board(agents, waiting, costs, orders)],
        live=LIVE,
        here="Board",
    )


def board(agents: Sequence[Data], waiting: Sequence[Data], costs: Data, orders: Data) -> h.Fragment:
    """The part that changes."""
    groups = grouped(agents)
    return h.fragment[
        waiting_section(waiting),
        h.div(id="figures", class_="figures")[_figures(groups, costs)],
        _of_all(agents, orders),
        [_group(name, those) for name, those in groups.items()]
        or empty('No agent runs. Start one with: chaperon run "PROMPT" --repo DIR'),
    ]


def _of_all(agents: Sequence[Data], orders: Data) -> h.Element:
    """The buttons for all agents, and the orders that stand."""
    live = any(agent["ended_at"] is None for agent in agents)
    drain, until = orders["drain"], orders["autopilot_until"]
    return h.section(id="all", aria_label="All agents")[
        [h.p(class_="error")[sentence] for sentence in _in_force(orders)],
        h.div(class_="buttons")[
            ask("New agent…", "new-agent", "/agents", kind="main", title="Start an agent"),
            [
                ask("Pause all…", "confirm", "/orders/pause", title="Pause all agents", question=PAUSE),
                ask("Say to all…", "say", "/orders/say", title="Say something to all agents"),
                ask("Stop all…", "stop-all", "/orders/stop", kind="bad", title="Stop all agents"),
            ]
            if live
            else None,
            post("Resume all", "/orders/resume") if orders["pauses"] else None,
            post("Take tasks again", "/drain", body={"on": False})
            if drain["on"]
            else ask(
                "Take no tasks…", "confirm", "/drain", title="Take no new tasks", body={"on": True}, question=DRAIN
            ),
            ask("Leave them alone…", "autopilot", "/autopilot", title="Leave the agents alone")
            if until is None
            else post("I am there again", "/autopilot/end"),
        ],
    ]


def _in_force(orders: Data) -> Iterator[str]:
    drain, until = orders["drain"], orders["autopilot_until"]
    if drain["on"]:
        yield clean(f"No new task is taken, says {drain['by']}. {drain['reason']}", 400)
    for pause in orders["pauses"]:
        yield clean(f"All agents are paused, says {pause['by']}. {pause['reason']}", 400)
    if until is not None:
        yield "The agents are left alone" + (f" until {local(until)}." if until else " until their budget is spent.")


def waiting_section(waiting: Sequence[Data]) -> h.Node:
    """The actions that wait for a person; nothing if none does."""
    if not waiting:
        return None
    return h.section(id="waiting", aria_labelledby="waiting-title")[
        h.h2(id="waiting-title")[f"{counted(len(waiting), 'action waits', 'actions wait')} for you"],
        [waiting_card(each) for each in waiting],
    ]


def waiting_card(each: Data) -> h.Element:
    """An action that waits, with the buttons that answer it."""
    target = path("agents", str(each["agent"]), "approvals", str(each["request_id"]))
    return h.article(
        id=f"waits-{each['request_id']}",
        class_="card waits row",
        tabindex="0",
        data_open=path("agents", str(each["agent"])),
    )[
        h.header[
            h.h3[agent_link(str(each["agent"])), " asks for ", clean(each["tool"], 60)],
            h.span(class_="muted")[
                "denied ", age(float(each["asked_at"]) + float(each["deadline_seconds"]), until=True)
            ],
        ],
        h.pre(class_="command", tabindex="0")[_subject(each)],
        h.p[clean(each["why"], 1_000)],
        h.p(class_="muted")[f"Risk {each['risk']:.2f}. {clean(each['reasoning'], 2_000)}"],
        h.details[h.summary["All of the call"], block(each["input"])],
        h.div(class_="buttons")[
            post("Approve", target, body={"granted": True}, kind="good", key="a"),
            ask("Deny", "deny", target, kind="bad", key="d", title=f"Deny this of {clean(each['agent'], 60)}"),
        ],
    ]


def _subject(each: Data) -> str:
    given = each["input"]
    if isinstance(given, dict) and isinstance(given.get("command"), str):
        return str(given["command"])[:4_000]
    return what(given)


def _figures(groups: dict[str, list[Data]], costs: Data) -> Iterator[h.Element]:
    for name, those in groups.items():
        yield h.span[h.b[f"{len(those):,}"], " ", name.lower()]
    if costs.get("total_usd"):
        yield h.span[h.b[dollars(costs["today_usd"])], " today (UTC)"]
        yield h.span[h.b[dollars(costs["total_usd"])], " in all"]


def _group(name: str, those: Sequence[Data]) -> h.Element:
    title = f"group-{name.lower().replace(' ', '-')}"
    inner = (
        h.h2(id=title)[f"{name} ", h.small[f"{len(those):,}"]],
        h.div(class_="cards")[(agent_card(one) for one in those)],
    )
    return h.section(id=f"section-{title}", aria_labelledby=title, class_="ended" if name == "Ended" else None)[inner]


def agent_card(agent: Data) -> h.Element:
    """An agent in short."""
    name = str(agent["agent"])
    told = attention(agent)
    return h.article(
        id=f"agent-{name}", class_="card row", tabindex="0", data_open=path("agents", name), aria_label=name
    )[
        h.header[h.h3[agent_link(name)], badge(str(agent["state"])), h.span(class_="muted")[lasted(agent)]],
        h.p(class_="task")[clean(agent["task"]["prompt"], 200)],
        h.p(class_="now")[_now(agent)],
        h.p(class_="error")[clean(told, 400)] if told else None,
        h.p(class_="muted small")[" · ".join(_counts(agent))],
        agent_buttons(agent),
    ]


def _now(agent: Data) -> h.Node:
    if agent["ended_at"] is not None:
        return clean(agent.get("result") or agent["why"], 200)
    if calls := agent.get("calls"):
        return h.code[clean(f"{calls[-1]['tool']} {calls[-1]['summary']}", 160)]
    return clean(agent.get("words") or agent["why"], 160)


def _counts(agent: Data) -> list[str]:
    blocked = agent["reviews"].get("block", 0)
    used, window = agent["context_tokens"], agent["context_window"]
    parts = [
        counted(steps(agent), "call"),
        f"{blocked:,} blocked" if blocked else "",
        counted(len(agent["incidents"]), "incident") if agent["incidents"] else "",
        dollars(agent["cost_usd"]) if agent["cost_usd"] else "",
        f"context {used / window:.0%}" if window and used else "",
        f"{agent['memory_mb']:,.0f} MiB" if agent["memory_mb"] else "",
    ]
    return list(filter(None, parts))


def _remove(name: str) -> h.Element:
    target = path("agents", name, "remove")
    return ask("Remove what it left…", "remove", target, title=f"Remove what {clean(name, 60)} left")


def agent_buttons(agent: Data) -> h.Node:
    """The buttons that steer an agent, as its state allows."""
    name = str(agent["agent"])
    can = verbs(agent)
    if not can:
        return None if agent.get("removed_at") is not None else h.div(class_="buttons")[_remove(name)]

    def target(verb: str) -> str:
        return path("agents", name, verb)

    short = clean(name, 60)
    made = {
        "pause": lambda: post("Pause", target("pause"), key="p"),
        "resume": lambda: post("Resume", target("resume"), key="r"),
        "say": lambda: ask("Say…", "say", target("say"), key="s", title=f"Say something to {short}"),
        "redirect": lambda: ask(
            "Redirect…", "redirect", target("redirect"), title=f"Give {short} something else to do"
        ),
        "stop": lambda: ask("Stop…", "stop", target("stop"), kind="bad", key="x", title=f"Stop {short}"),
    }
    allow = ask("Allow…", "allow", target("allowances"), title=f"Let {short} do something that a rule would block")
    return h.div(class_="buttons")[(made[verb]() for verb in can), allow if "say" in can else None]
