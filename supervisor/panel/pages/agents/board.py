"""The board: what waits for a person on top, then all agents by state."""

from collections.abc import Callable, Iterator, Sequence

import htpy as h

from monitors.contract.wording import counted, dollars
from supervisor.cli.output.words import clean, local, rest_of_call, what
from supervisor.panel.asked import with_query
from supervisor.panel.grouping import attention, grouped, labels_of, question, steps, verbs, with_label
from supervisor.panel.pages.agents.proposals import proposals_section
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.merges import merges_section
from supervisor.panel.pages.parts import (
    Data,
    age,
    agent_link,
    ask,
    badge,
    block,
    bounded,
    choice,
    empty,
    lasted,
    path,
    post,
)
from supervisor.panel.present import BoardData

LIVE = "/live/board"

PAUSE = "Each is held at its next tool call, and so are those that start meanwhile."
DRAIN = "Agents that work go on; no other begins until you take tasks again."


CardMaker = Callable[[Data, str], h.Node]
"""Makes the card of an agent that stands in a group of this name."""


def board_page(frame: PageFrame, data: BoardData, label: str, card: CardMaker) -> h.Element:
    """The page; with a label, of the agents that have it alone."""
    labels = labels_of(agent["task"]["labels"] for agent in data.agents)
    return page(
        frame,
        "Board",
        h.h1(class_="hidden")["Board"],
        h.form(method="get", class_="buttons")[choice("Label", "label", labels, label), h.button(type="submit")["Show"]]
        if labels or label
        else None,
        h.div(id="board")[board(data, label, card)],
        live=with_query(LIVE, {"label": label}),
        here="Board",
    )


def board(data: BoardData, label: str, card: CardMaker) -> h.Fragment:
    """The part that changes."""
    waiting = data.waiting
    shown = with_label(data.agents, label)
    names = {agent["agent"] for agent in shown}
    mine = [one for one in waiting if not label or one["agent"] in names]
    groups = grouped(shown)
    return h.fragment[
        [h.p(class_="error")[clean(sentence, 1_000)] for sentence in data.told],
        waiting_section(mine),
        _elsewhere(len(waiting) - len(mine)),
        proposals_section(shown),
        _questions([(one, asked) for one in shown if (asked := question(one))]),
        merges_section([one for one in data.merges if not label or one["id"] in names]),
        h.div(id="figures", class_="figures")[_figures(groups, data.costs)],
        _of_all(shown, data.orders, label),
        [_group(name, those, card) for name, those in groups.items()]
        or empty(
            f"No agent has the label {clean(label, 64)}."
            if label
            else 'No agent runs. Start one with: chaperon run "PROMPT" --repo DIR'
        ),
    ]


def _elsewhere(number: int) -> h.Node:
    if not number:
        return None
    return h.p(id="elsewhere")[
        h.a(href="/")[f"{counted(number, 'action')} of other agents {'waits' if number == 1 else 'wait'} for you"]
    ]


def _of_all(agents: Sequence[Data], orders: Data, label: str) -> h.Element:
    """The buttons for all agents, or for those with a label, and the orders that stand."""
    live = any(agent["ended_at"] is None for agent in agents)
    until = orders["autopilot_until"]
    drained = any((one["label"], one["repository"]) == (label, "") for one in _drains(orders))
    held = any(label in ("", one["label"]) for one in orders["pauses"])
    which, body = (f" with the label {clean(label, 64)}", {"label": label}) if label else ("", {})
    return h.section(id="all", aria_label="All agents")[
        [h.p(class_="error")[sentence] for sentence in _in_force(orders)],
        h.div(class_="buttons")[
            ask("New agent…", "new-agent", "/agents", kind="main", title="Start an agent"),
            [
                ask(
                    "Pause all…",
                    "confirm",
                    "/orders/pause",
                    title=f"Pause all agents{which}",
                    question=PAUSE,
                    body=body,
                ),
                ask("Say to all…", "say", "/orders/say", title=f"Say something to all agents{which}", body=body),
                ask("Stop all…", "stop-all", "/orders/stop", kind="bad", title=f"Stop all agents{which}", body=body),
            ]
            if live
            else None,
            post("Resume all", "/orders/resume", body=body) if held else None,
            post("Take tasks again", "/drain", body={**body, "on": False})
            if drained
            else ask(
                "Take no tasks…",
                "confirm",
                "/drain",
                title=f"Take no new tasks{which}",
                body={**body, "on": True},
                question=DRAIN,
            ),
            ask("Leave them alone…", "autopilot", "/autopilot", title="Leave the agents alone")
            if until is None
            else post("I am there again", "/autopilot/end"),
        ],
    ]


def _in_force(orders: Data) -> Iterator[str]:
    until = orders["autopilot_until"]
    for drain in _drains(orders):
        yield clean(f"No new task{_of_which(drain)} is taken, says {drain['by']}. {drain['reason']}", 400)
    for pause in orders["pauses"]:
        yield clean(f"All agents{_of_which(pause)} are paused, says {pause['by']}. {pause['reason']}", 400)
    if until is not None:
        yield "The agents are left alone" + (f" until {local(until)}." if until else " until their budget is spent.")


def _drains(orders: Data) -> list[Data]:
    """Return the drains in force: that of all tasks, and those of a label or a repository."""
    return [*([orders["drain"]] if orders["drain"]["on"] else []), *orders["drains"]]


def _of_which(order: Data) -> str:
    label, repository = order["label"], order["repository"]
    return (f" with the label {label}" if label else "") + (f" of {repository}" if repository else "")


def waiting_section(waiting: Sequence[Data]) -> h.Node:
    """The actions that wait for a person; nothing if none does."""
    if not waiting:
        return None
    return h.section(id="waiting", aria_labelledby="waiting-title")[
        h.h2(id="waiting-title")[f"{counted(len(waiting), 'action waits', 'actions wait')} for you"],
        [_waiting_card(each) for each in waiting],
    ]


def _questions(asked: Sequence[tuple[Data, str]]) -> h.Node:
    if not asked:
        return None
    return h.section(id="questions", aria_labelledby="questions-title")[
        h.h2(id="questions-title")[f"{counted(len(asked), 'agent asks', 'agents ask')} you something"],
        [_question_card(agent, text) for agent, text in asked],
    ]


def _question_card(agent: Data, text: str) -> h.Element:
    name = str(agent["agent"])
    over = "It is done, and waits for no answer." if agent["ended_at"] is not None else None
    return h.article(id=f"asks-{name}", class_="card waits row", tabindex="0", data_open=path("agents", name))[
        h.header[h.h3[agent_link(name)], badge(str(agent["state"])), h.span(class_="muted")[lasted(agent)]],
        h.p[clean(text, 400)],
        h.p(class_="muted")[over] if over else None,
        agent_buttons(agent),
    ]


def _waiting_card(each: Data) -> h.Element:
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
        h.details(open=bool(rest_of_call(str(each["tool"]), each["input"])))[
            h.summary["All of the call"], block(each["input"])
        ],
        h.div(class_="buttons")[
            post("Approve", target, body={"granted": True}, kind="good", key="a"),
            ask("Deny", "deny", target, kind="bad", key="d", title=f"Deny this of {clean(each['agent'], 60)}"),
        ],
    ]


def _subject(each: Data) -> str:
    given = each["input"]
    if isinstance(given, dict) and isinstance(given.get("command"), str):
        return bounded(given["command"], 4_000)
    return what(given)


def _figures(groups: dict[str, list[Data]], costs: Data) -> Iterator[h.Element]:
    for name, those in groups.items():
        yield h.span[h.b[f"{len(those):,}"], " ", name.lower()]
    if costs.get("total_usd"):
        yield h.span[h.b[dollars(costs["today_usd"])], " today (UTC)"]
        yield h.span[h.b[dollars(costs["total_usd"])], " in all"]


def _group(name: str, those: Sequence[Data], card: CardMaker) -> h.Element:
    title = f"group-{name.lower().replace(' ', '-')}"
    inner = (
        h.h2(id=title)[f"{name} ", h.small[f"{len(those):,}"]],
        h.div(class_="cards")[(card(one, name) for one in those)],
    )
    return h.section(id=f"section-{title}", aria_labelledby=title, class_="ended" if name == "Ended" else None)[inner]


class Cards:
    """Makes cards of agents, and each again only if its agent has changed. Used from one event loop."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Data, str]] = {}

    def whole(self, agent: Data, _group: str = "") -> str:
        """Return the card of an agent."""
        name = str(agent["agent"])
        known, made = self._made.get(name, (None, ""))
        if known is not agent:
            made = str(agent_card(agent))  # markup, which htpy does not escape again
            self._made[name] = (agent, made)
        return made

    def keep(self, agents: Sequence[Data]) -> None:
        """Forget the cards of all other agents."""
        names = {agent["agent"] for agent in agents}
        self._made = {name: made for name, made in self._made.items() if name in names}


class SentCards:
    """Makes what one browser needs of each card: all of it, or a mark that it is as it was.

    Args:
        cards: Makes whole ones.
    """

    def __init__(self, cards: Cards) -> None:
        self._cards = cards
        self._before: dict[str, tuple[str, str]] = {}
        self._now: dict[str, tuple[str, str]] = {}

    def card(self, agent: Data, group: str) -> h.Node:
        """Return the card; a mark in its place if the browser has it in this group."""
        name = str(agent["agent"])
        self._now[name] = made = (group, self._cards.whole(agent))
        known = self._before.get(name)
        same = known is not None and known[0] == group and known[1] is made[1]
        return h.article(id=f"agent-{name}", data_same=True) if same else made[1]

    def sent(self) -> None:
        """Take it that the browser has those that were made since the last time."""
        self._before, self._now = self._now, {}


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
