"""The actions of the panel: each is one request to the daemon, which refuses what the command line would be refused.

Pure: `acting` sends them. A page's form has texts; a body has what the daemon's API wants.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from monitors.contract.errors import UsageError
from monitors.contract.wording import counted
from supervisor.cli.common import path_part
from supervisor.panel.pages.checkpoints import address, rolled_back
from supervisor.panel.pages.parts import path
from supervisor.panel.pages.projects import project_address

Body = Mapping[str, Any]
NAMED = re.compile(r"\{(\w+)\}")
"""A name in a route, in whose place a value stands."""

MINUTE, HOUR = 60.0, 3_600.0


@dataclass(frozen=True, slots=True)
class PanelAction:
    """An action.

    Args:
        path: On the panel.
        body: The request to it, of what the page sent.
        says: What is told when it is done, of the daemon's answer.
        go: The page that shows what came of it, or what makes its path of the answer and what the page sent.
        route: The daemon's route, if it is another than the path below `/v1`.
        confirm: Whether the last part of the path must have been typed.
        method: `POST` or `DELETE`.
    """

    path: str
    body: Callable[[Body], Any]
    says: Callable[[Any], str]
    go: Callable[[Any, Body], str] | str = ""
    route: str = ""
    confirm: bool = False
    method: str = "POST"

    def target(self, given: Body) -> str:
        """Return the path of the daemon's API, of the parts of ours and of what the page sent; raises UsageError."""
        route = self.route or f"/v1{self.path}"
        return NAMED.sub(lambda found: path_part(str(given.get(found[1]) or ""), "The page"), route)

    def page(self, done: Any, body: Body) -> str:
        """Return the page that shows what came of it; empty to stay."""
        return self.go if isinstance(self.go, str) else self.go(done, body)


def text(name: str) -> Callable[[Body], str]:
    """Return what reads a field of a form; empty if it has none."""
    return lambda body: str(body.get(name) or "")


def number(body: Body, name: str) -> float | None:
    """Return a number of a form; None if the field is empty.

    Raises:
        UsageError: It is something else.
    """
    given = str(body.get(name) or "").strip().replace(",", ".")
    if not given:
        return None
    try:
        read = float(given)
    except ValueError:
        read = nan
    if not isfinite(read):  # JSON would send no value for nan and inf, and so no limit
        raise UsageError(f"{name}: {given[:40]!r} is no finite number; nothing was done.")
    return read


def texts(*names: str) -> Callable[[Body], dict[str, Any]]:
    """Return what makes a request of texts."""
    return lambda body: {name: str(body.get(name) or "") for name in names}


def texts_and_flags(names: tuple[str, ...], flags: tuple[str, ...]) -> Callable[[Body], dict[str, Any]]:
    """Return what makes a request of texts and of boxes that are ticked."""
    return lambda body: {**texts(*names)(body), **{name: body.get(name) is True for name in flags}}


def nothing(_body: Body) -> Any:
    """The request that has no body."""
    return None


def _agent_verb(verb: str, body: Callable[[Body], Any] = nothing) -> PanelAction:
    return PanelAction(
        f"/agents/{{agent}}/{verb}",
        body,
        lambda known: f"{known['agent']} is {known['state']}.",
    )


def _task_verb(verb: str, body: Callable[[Body], Any]) -> PanelAction:
    return PanelAction(
        f"/tasks/{{task}}/{verb}",
        body,
        lambda known: f"{known['task']} is {known['state']}: {known['why']}",
    )


def _for_label(body: Callable[[Body], Any]) -> Callable[[Body], Any]:
    """Return what makes the same request for the agents or tasks with a label, if one is sent."""
    return lambda given: {**body(given), "label": text("label")(given) or None}


def _order(control: str, body: Callable[[Body], Any]) -> PanelAction:
    return PanelAction(
        f"/orders/{control}",
        _for_label(body),
        lambda done: _ordered(control, done["agents"]),
    )


def _ordered(control: str, rows: list[dict[str, Any]]) -> str:
    failed = [row for row in rows if not row["done"]]
    said = f"{control.capitalize()}: {counted(len(rows) - len(failed), 'agent')}."
    return said if not failed else f"{said} Not {failed[0]['agent']}: {failed[0]['what']}"


def _merge(verb: str) -> PanelAction:
    return PanelAction(
        f"/merges/{{name}}/{verb}",
        texts("into") if verb == "carry-out" else nothing,
        lambda done: f"The merge of {done['branch']} is {done['phase']}: {done['why']}",
    )


def _allowance(body: Body) -> Any:
    minutes = number(body, "minutes")
    seconds = None if minutes is None else minutes * MINUTE
    return {**texts("rule", "tool", "text")(body), "once": seconds is None, "seconds": seconds}


def _autopilot(body: Body) -> Any:
    hours = number(body, "hours")
    until = None if hours is None else body["now"] + hours * HOUR
    return {"until": until, "max_cost_usd": number(body, "max_cost_usd"), "reason": text("reason")(body)}


def _task(body: Body) -> Any:
    return {"tasks": [texts("prompt", "repository")(body)], "request_id": text("request_id")(body)}


def _agent(body: Body) -> Any:
    own = {"workspace": "new"} if body.get("new_workspace") is True else {}
    return {**texts("prompt", "repository")(body), "max_cost_usd": number(body, "max_cost_usd"), **own}


def _rollback(body: Body) -> Any:
    return texts_and_flags(("text", "checkpoint"), ("files_only", "fresh", "with_branch", "unusual"))(body)


def _removed(rows: Any) -> str:
    told = "; ".join(f"{row['agent']}: {row['why'] or ', '.join(row['lost'])}" for row in rows if not row["done"])
    return f"Something would be lost, so it stays. {told}" if told else "What it left was removed."


def _checkpoint_verb(verb: str, says: Callable[[Any], str], go: str = "") -> PanelAction:
    return PanelAction(
        f"/checkpoints/{{name}}/{verb}",
        texts("agent"),
        says,
        go,
    )


def _lesson(done: Any) -> str:
    return f"Noted. Thresholds of {done['pattern']} are multiplied with {done['factor']:g} in new tasks."


ACTIONS = (
    PanelAction(
        "/agents",
        _agent,
        lambda made: f"{made['agent']} is {made['state']}.",
        lambda made, _: path("agents", str(made["agent"])),
    ),
    _agent_verb("pause"),
    _agent_verb("resume"),
    _agent_verb("say", texts("text")),
    _agent_verb("redirect", texts("text")),
    _agent_verb("stop", texts_and_flags(("reason",), ("force",))),
    PanelAction(
        "/agents/{agent}/approvals/{request}",
        lambda body: {"granted": body.get("granted") is True, "note": text("note")(body)},
        lambda known: f"{known['agent']} has its answer.",
    ),
    PanelAction(
        "/agents/{agent}/allowances",
        _allowance,
        lambda given: f"{given['agent']} may do that {'once' if given['uses'] == 1 else 'for a while'}.",
    ),
    PanelAction(
        "/agents/{agent}/allowances/{id}/revoke",
        nothing,
        lambda _: "That is allowed no more.",
        "/policy",
        method="DELETE",
        route="/v1/agents/{agent}/allowances/{id}",
    ),
    PanelAction(
        "/agents/{agent}/outcomes",
        texts("pattern", "outcome", "note"),
        _lesson,
    ),
    PanelAction(
        "/outcomes/{pattern}/undo",
        nothing,
        _lesson,
        "/policy",
    ),
    PanelAction(
        "/agents/{agent}/checkpoints",
        texts("name", "note"),
        lambda made: f"{made['name']} holds the workspace.",
    ),
    PanelAction(
        "/agents/{agent}/remove",
        lambda body: {"agents": [text("agent")(body)], "force": body.get("force") is True},
        _removed,
        route="/v1/removals",
    ),
    PanelAction(
        "/checkpoints/{name}/rollback",
        _rollback,
        rolled_back,
        lambda done, body: address(str(done["undo"]), text("agent")(body)),
        confirm=True,
        route="/v1/agents/{agent}/rollback",
    ),
    _checkpoint_verb("forget", lambda one: f"{one['name']} is forgotten.", "/checkpoints"),
    _checkpoint_verb("workspace", lambda made: f"It is in {made['workspace']}."),
    PanelAction(
        "/projects",
        texts("project", "name", "note"),
        lambda made: f"{made['name']} holds {made['project']}.",
        lambda made, _: project_address(str(made["name"]), str(made["project"])),
        route="/v1/project-checkpoints",
    ),
    PanelAction(
        "/projects/{name}/forget",
        texts("project"),
        lambda one: f"{one['name']} is forgotten.",
        "/projects",
        route="/v1/project-checkpoints/{name}/forget",
    ),
    PanelAction(
        "/projects/{name}/rollback",
        texts_and_flags(("project", "request_id"), ("with_branches", "unusual")),
        lambda done: f"{done['project']} is as in {done['checkpoint']}. This page undoes it.",
        lambda done, _: project_address(str(done["undo"]), str(done["project"])),
        confirm=True,
        route="/v1/project-checkpoints/{name}/rollback",
    ),
    PanelAction(
        "/incidents/{incident}/recovery",
        texts("option"),
        lambda done: str(done["says"]),
    ),
    _order("pause", lambda body: {**texts("reason")(body), "at_turn_end": body.get("at_turn_end") is True}),
    _order("resume", texts()),
    _order("say", texts("text")),
    _order("stop", texts_and_flags(("reason",), ("force",))),
    PanelAction(
        "/drain",
        _for_label(lambda body: {"on": body.get("on") is True, "reason": text("reason")(body)}),
        lambda state: "No new task is taken." if state["on"] else "New tasks are taken.",
    ),
    PanelAction(
        "/autopilot",
        _autopilot,
        lambda _: "The agents are left alone until then.",
    ),
    PanelAction("/autopilot/end", nothing, lambda _: "You are there again."),
    PanelAction(
        "/tasks",
        _task,
        lambda added: f"{added['tasks'][0]['task']} waits for an agent.",
        lambda added, _: path("tasks", str(added["tasks"][0]["task"])),
    ),
    _task_verb("cancel", texts("reason")),
    _task_verb("retry", nothing),
    _task_verb("edit", texts("prompt")),
    _task_verb("reorder", texts("place")),
    _merge("carry-out"),
    _merge("withdraw"),
    PanelAction(
        "/discoveries/{id}/forget",
        nothing,
        lambda _: "No agent that starts from now on is told it.",
        "/discoveries",
        method="DELETE",
        route="/v1/discoveries/{id}",
    ),
)
"""All that can be done here. `tests/supervisor/panel/test_actions.py` holds it against the routes of the daemon that
change something."""
