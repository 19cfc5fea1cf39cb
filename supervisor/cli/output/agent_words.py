"""Facts about an agent for people: a row of a list, a portrait, the reasons of responses, the end of a run."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from monitors.contract.wording import counted, dollars, duration
from supervisor.cli.output import terminal
from supervisor.cli.output.tables import Column
from supervisor.cli.output.words import clean, local, short_ids, what, when

SANDBOX = "SANDBOX"

COLUMNS = (
    Column("AGENT"),
    Column("STATE"),
    Column("STARTED", spare=7),
    Column("ACTIONS", right=True, spare=6),
    Column("BLOCKED", right=True, spare=5),
    Column("INCIDENTS", right=True, spare=8),
    Column("COST", right=True, spare=9),
    Column("MEM", right=True, spare=3),
    Column("CPU", right=True, spare=2),
    Column("PROCS", right=True, spare=1),
    Column("ORIGIN", spare=3),
    Column(SANDBOX, spare=4),
    Column("TASK", most=60),
)

SENTENCE = 1_000
"""Characters of a sentence that are shown."""

LABEL = 11
"""Characters of the words at the left."""

MOST_WAITING = 3
"""Actions of one agent that wait for a person that a list shows; the rest is a number."""

MOST_HELD = 6
"""Agents of one sandbox that are named in a line."""

MOST_STEPS = 10
"""Of the last steps, those that are shown: what was done in the last minutes. `--json` has more."""

MOST_NEXT = 3
"""Entries of the agent's own list that are shown as next."""

MOST_OTHERS = 3
"""Other agents that are named whose changes may be among those of one."""

ANSWERED = {"allow": "allowed", "warn": "warned", "modify": "changed", "block": "blocked"}

CHANGED = {
    "added": "added",
    "modified": "changed",
    "deleted": "deleted",
    "type_changed": "of another type",
    "mode_changed": "of another mode",
}

Agent = Mapping[str, Any]


def with_task_text(agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts under their contracted names.

    `task` is the prompt, and `task_details` has all facts about the task.
    """
    return {**agent, "task": agent["task"]["prompt"], "task_details": agent["task"]}


def row(agent: Agent, now: float) -> list[str]:
    """A row of the list."""
    reviews, over = agent["reviews"], agent["ended_at"] is not None
    return [
        agent["agent"],
        _short_state(agent),
        when(agent["started_at"], now),
        f"{sum(reviews.values()):,}",
        f"{reviews.get('block', 0):,}",
        f"{len(agent['incidents']):,}",
        "-" if agent["cost_usd"] is None else dollars(agent["cost_usd"]),
        "-" if over else f"{agent['memory_mb']:,.0f} MiB",
        "-" if not agent["cpu_seconds"] else duration(agent["cpu_seconds"]),
        "-" if over else f"{agent['processes']:,}",
        _origin(agent) or "-",
        (agent.get("sandbox") or "-").replace(", ", "/"),
        agent["task"]["prompt"],
    ]


def below_row(agent: Agent, now: float) -> Iterator[str]:
    """Yield the facts about an agent that a person should see at once."""
    if agent["unwatched"]:
        yield f"nobody watches over it: {clean(agent['why'], SENTENCE)}"
    if agent.get("api"):
        yield clean(agent["api"], SENTENCE)
    if held := _held(agent):
        yield clean(held, SENTENCE)
    yield from (clean(line, SENTENCE) for line in _waiting(agent, now))


def held_by(head: str, agents: Sequence[Agent]) -> str:
    """Return the line on who is held by which sandbox, if the table under this head has no room for it.

    It is about agents that are at work, and empty if none of them has a sandbox.
    """
    groups: dict[str, list[str]] = {}
    for agent in agents:
        if agent["ended_at"] is None:
            groups.setdefault(agent.get("sandbox") or "none", []).append(agent["agent"])
    if SANDBOX in head.split() or groups.keys() <= {"none"}:
        return ""
    each = (f"{name} ({', '.join(held[:MOST_HELD])}{_more(held, MOST_HELD)})" for name, held in sorted(groups.items()))
    return clean(f"Sandbox: {'; '.join(each)}", SENTENCE)


def _more(names: Sequence[str], most: int) -> str:
    return f" and {len(names) - most:,} more" if len(names) > most else ""


def of_which(order: Mapping[str, Any]) -> str:
    """Say for which agents or tasks an order is, behind their name; empty for all."""
    with_label = f" with the label {order['label']}" if order.get("label") else ""
    return with_label + (f" of {order['repository']}" if order["repository"] else "")


def options_for(order: Mapping[str, Any]) -> str:
    """Return the options by which the same agents are meant again."""
    label = f" --label {quote(order['label'])}" if order.get("label") else ""
    repo = f" --repo {quote(order['repository'])}" if order["repository"] else ""
    return (repo + label).strip() or "--all"


def in_force(orders: Mapping[str, Any]) -> Iterator[str]:
    """Yield what people ordered that concerns agents which start now."""
    drain = orders.get("drain") or {}
    if drain.get("on"):
        yield clean(f"No new tasks are taken: {_ordered(drain)}. To take them again: chaperon drain --off", SENTENCE)
    if (until := orders.get("autopilot_until")) is not None:
        yield f"Autopilot until {local(until) if until else 'its budget is spent'}: chaperon autopilot"
    for part in orders.get("drains", ()):
        whom, lift = of_which(part), f" {options_for(part)}"
        yield clean(
            f"No new tasks{whom} are taken: {_ordered(part)}. To take them: chaperon drain --off{lift}", SENTENCE
        )
    for pause in orders.get("pauses", ()):
        which, lift = of_which(pause), options_for(pause)
        whom = f"Agents{which}" if which else "All agents"
        yield clean(f"{whom} are held as they start: {_ordered(pause)}. To go on: chaperon resume {lift}", SENTENCE)


def _ordered(order: Mapping[str, Any]) -> str:
    why = f" ({order['reason']})" if order["reason"] else ""
    return f"by {order['by']} since {local(order['since'])}{why}"


def _held(agent: Agent) -> str:
    """Say who holds it, or will."""
    pause = agent.get("pause")
    if not pause:
        return ""
    held = "held" if agent["state"] == "paused" else "to be held"
    when_ = " when its turn ends" if pause["at_turn_end"] and agent["state"] != "paused" else ""
    why = f": {pause['reason']}" if pause["reason"] else ""
    return f"{held}{when_}, by {pause['by']} since {local(pause['asked_at'])}{why}"


def _short_state(agent: Agent) -> str:
    return f"{agent['state']}, asks" if agent.get("waiting") else str(agent["state"])


def portrait(agent: Agent, changes: Mapping[str, Any] | None, now: float) -> list[str]:
    """All that matters of an agent, what is not the case left out.

    Args:
        agent: What the daemon knows of it.
        changes: What changed in its workspace; None if that is not known.
        now: Unix time, in seconds.
    """
    facts = {
        "agent": f"{agent['agent']}, {_state(agent, now)}",
        "task": agent["task"]["prompt"],
        "workspace": _workspace(agent),
        "origin": _origin(agent),
        "watched": _watched(agent),
        "waiting": "; ".join(_waiting(agent, now)),
        "now": "; ".join(_running(each, now) for each in agent.get("calls") or ()),
        "said": agent["result"] if agent["ended_at"] is not None and agent["result"] else agent.get("words", ""),
        "to-do": _todo(agent.get("todo") or ()),
        "files": _changes(changes),
        "calls": calls(agent["reviews"]),
        "expired": _expired(agent),
        "tests": agent.get("tests", ""),
        "cost": _cost(agent),
        "issues": _counts(agent["issues"]),
        "answers": _answers(agent),
        "incidents": ", ".join(agent["incidents"]),
        "outcomes": ", ".join(f"{name}: {became}" for name, became in agent["said"].items()),
        "learned": ", ".join(f"{name} times {factor:g}" for name, factor in agent["factors"].items()),
        "session": _session(agent),
        "processes": _processes(agent),
    }
    lines = [line for name, value in facts.items() for line in _labelled(name, clean(value, SENTENCE))]
    steps = list(agent["recent"])[-MOST_STEPS:]
    return [*lines, *(["last steps", *map(_step, steps)] if steps else [])]


def _labelled(name: str, value: str) -> Iterator[str]:
    for number, line in enumerate(terminal.wrapped(value, LABEL)):
        yield f"{'' if number else name:<{LABEL}}{line.strip()}"


def _state(agent: Agent, now: float) -> str:
    ended = agent["ended_at"]
    lasted = duration(max(0.0, (ended or now) - agent["started_at"]))
    since = f"{'after' if ended else 'for'} {lasted}, since {when(agent['started_at'], now)}"
    if ended is not None:
        since = f"after {lasted}, {when(agent['started_at'], now)} to {when(ended, now)}"
    unwatched = "; nobody watches over it" if agent["unwatched"] else ""
    return f"{agent['state']} {since}{unwatched}: {agent.get('api') or agent['why']}"


def _workspace(agent: Agent) -> str:
    branch = f" on branch {agent['branch']}" if agent["branch"] else ""
    closed = f" ({agent['workspace_closed']})" if agent["workspace_closed"] else ""
    return f"{agent['workspace']}{branch}{closed}"


def _origin(agent: Agent) -> str:
    """Return what started the CLI of an attached agent, and its terminal; empty for one that we launched."""
    return " ".join(filter(None, (agent.get("origin"), agent.get("terminal")))) if agent.get("origin") else ""


def _watched(agent: Agent) -> str:
    level = agent["task"].get("monitoring_level", "normal")
    return "" if level == "normal" else f"closely ({level})"


def _todo(items: Sequence[Mapping[str, Any]]) -> str:
    """Return the progress of the agent's own list, and its next items."""
    left = [str(item["text"]) for item in items if item["state"] != "completed"]
    following = f"; next: {'; '.join(left[:MOST_NEXT])}" if left else ""
    return f"{len(items) - len(left):,} of {len(items):,} done, by its own list{following}" if items else ""


def _expired(agent: Agent) -> str:
    number = agent.get("expired") or 0
    return f"{counted(number, 'action was', 'actions were')} not run, for nobody answered in time" if number else ""


def _waiting(agent: Agent, now: float) -> Iterator[str]:
    """Yield the requests of the agent that wait for a person, and the command to reply."""
    hosts = [each for each in agent.get("hosts") or () if each["until"] > now]  # older daemons say nothing of these
    actions = agent.get("waiting") or ()
    ids = short_ids([clean(each["request_id"]) for each in (*actions, *hosts)])
    waiting = [*(_waits(each, now) for each in actions), *map(_refused_host, hosts)]
    for line, id_ in zip(waiting[:MOST_WAITING], ids, strict=False):
        yield line if len(waiting) == 1 else f"{id_} {line}"
    if len(waiting) > MOST_WAITING:
        yield f"and {len(waiting) - MOST_WAITING:,} more: chaperon approvals"
    if waiting:
        which = f"{agent['agent']} {'ID' if len(waiting) > 1 else ids[0]}"
        yield f"To answer: chaperon approve {which}, or chaperon deny {which}; chaperon approvals shows it whole"


def _waits(each: Mapping[str, Any], now: float) -> str:
    left = duration(max(0.0, float(each["until"]) - now))
    times = f"since {local(each['asked_at'])}, denied at {local(each['until'])}, in {left}"
    return clean(
        f"waits for approval ({times}): {each['tool']} {what({'command': each['summary']})}: {each['why']}", 400
    )


def _refused_host(each: Mapping[str, Any]) -> str:
    times = f"asked for at {local(each['asked_at'])}"
    return clean(f"was refused the host {each['host']} ({times}), which you can open: {each['why']}", 300)


def _running(each: Mapping[str, Any], now: float) -> str:
    return clean(f"{each['tool']} {each['summary']} (for {duration(max(0.0, now - float(each['since'])))})", 200)


def _changes(changes: Mapping[str, Any] | None) -> str:
    if changes is None:
        return ""
    counts = {str(name): int(number) for name, number in changes["counts"].items()}
    paths = [clean(each["path"], 80) for each in changes["paths"][:3]]
    total = sum(counts.values())
    if not total:
        return "none changed"
    how = ", ".join(f"{number:,} {CHANGED.get(name, name)}" for name, number in counts.items())
    more = f" and {total - len(paths):,} more" if total > len(paths) else ""
    return f"{how}: {', '.join(paths)}{more}{shared(changes)}"


def shared(changes: Mapping[str, Any]) -> str:
    """Name the other agents that worked in the same files, so that changes may be theirs; empty without any."""
    others: list[str] = changes.get("shared_with") or []  # a daemon of an earlier version does not say it
    if not others:
        return ""
    more = f" and {len(others) - MOST_OTHERS:,} more" if len(others) > MOST_OTHERS else ""
    return " " + clean(f"(by it or by {', '.join(others[:MOST_OTHERS])}{more}, in the same files)", 400)


def calls(reviews: Mapping[str, int]) -> str:
    """Return how many calls were reviewed, and how many of them were not simply allowed."""
    total = sum(reviews.values())
    unlike = [
        f"{number:,} {ANSWERED.get(name, name)}" for name, number in reviews.items() if name != "allow" and number
    ]
    return (f"{total:,}" + (f", {', '.join(unlike)}" if unlike else "")) if total else ""


def _cost(agent: Agent) -> str:
    limit = agent["task"].get("limits", {}).get("max_cost_usd")
    of = f" of {dollars(limit)}" if isinstance(limit, int | float) else ""
    used, window = agent["context_tokens"], agent["context_window"]
    tokens = agent["input_tokens"] + agent["cached_tokens"] + agent["output_tokens"]
    parts = [
        f"{dollars(agent['cost_usd'])}{of}" if agent["cost_usd"] is not None else "",
        f"{agent['input_tokens']:,} tokens in, {agent['cached_tokens']:,} from cache, {agent['output_tokens']:,} out"
        if tokens
        else "",
        f"context {used / window:.0%} of {window:,}" if window and used else "",
    ]
    return "; ".join(filter(None, parts))


def _answers(agent: Agent) -> str:
    given = _counts(agent["interventions"])
    came = _counts(agent["outcomes"])
    return f"{given}{came and f' (came to: {came})'}" if given else ""


def _session(agent: Agent) -> str:
    about = ", ".join(filter(None, (agent["model"], agent["cli_version"] and f"CLI {agent['cli_version']}")))
    return f"{agent['session_id']}{about and f' ({about})'}"


def _processes(agent: Agent) -> str:
    used = f"{duration(agent['cpu_seconds'])} of CPU, {agent['peak_memory_mb']:,.0f} MiB at most"
    if agent["ended_at"] is not None:
        return used if agent["peak_memory_mb"] else ""
    holder = f"process {agent['shim_pid']} and " if agent["shim_pid"] else ""
    held = f"CLI {agent['cli_pid']}, held by {holder}{agent['containment'] or 'nothing yet'}"
    held += f", sandbox {clean(agent['sandbox'])}" if agent["sandbox"] else ""
    disk = f", {agent['disk_mb']:,.0f} MiB in the workspace" if agent["disk_mb"] else ""
    now = f"{counted(agent['processes'], 'process', 'processes')}, {agent['memory_mb']:,.0f} MiB"
    return f"{now}, {counted(agent['open_files'], 'open file')}{disk}; {used}; {held}"


def _step(step: Mapping[str, Any]) -> str:
    failed = "failed" if step["failed"] else ""
    return f"  {clean(step['decision'], 7):<7} {failed:<7} {clean(step['tool'], 40)} {clean(step['summary'], 100)}"


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number)


# ── why ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def why(explained: Mapping[str, Any], *, over: bool) -> list[str]:
    """Why the last answer was given and no other, what holds the next one back, and what such answers came to.

    Args:
        explained: What the controller says of it.
        over: Whether the agent has ended, so that nothing comes next.
    """
    lines: list[str] = []
    if last := explained.get("last"):
        score = last.get("score") or {}
        lines += [
            f"the last answer was {last['kind']} ({last['id']})",
            *_below(f"because {last['reason']}"),
            *_below(
                f"severity by score: {score['sum']}; the strongest answer in proportion: {last['ceiling']}"
                if score
                else ""
            ),
            *(line for kind, because in last.get("not", {}).items() for line in _below(f"not {kind}: {because}")),
        ]
    if not over and (holds := list(_held_back(explained))):
        lines += ["before the next answer", *(line for hold in holds for line in _below(hold))]
    if record := explained.get("record"):
        lines += ["what such answers came to, in all runs", *(line for each in record for line in _below(_worth(each)))]
    return lines or ["nothing was answered in this run"]


def _below(text: str) -> list[str]:
    return terminal.wrapped(clean(text, SENTENCE), 2)


def _held_back(explained: Mapping[str, Any]) -> Iterator[str]:
    if explained.get("last"):
        yield f"{explained['used']} of {counted(explained['most'], 'answer')} of this run were given"
    if rests := explained.get("rests_for_seconds"):
        yield f"the agent is left alone for {duration(rests)} more"
    if explained.get("under_watch"):
        yield "whether the last one helps is still being seen"
    if explained.get("throttled"):
        yield "its limits are lowered"
    yield from (f"waits for an answer: {sentence}" for sentence in explained.get("waiting", ()))
    yield from (f"a person was asked: {need}" for need in explained.get("asked_a_person", ()))


def _worth(found: Mapping[str, Any]) -> str:
    """Return one line of the record.

    Example: `soft_correction for repetition: helped 2 of 3 times (21 to 94 %), 1 unclear`.
    """
    clear = found["success"] + found["failure"]
    span = f" ({100 * found['low']:.0f} to {100 * found['high']:.0f} %)" if clear else ""
    unclear = f", {found['unclear']} unclear" if found["unclear"] else ""
    return f"{found['kind']} for {found['issue']}: helped {found['success']} of {counted(clear, 'time')}{span}{unclear}"


# ── the end of a run ──────────────────────────────────────────────────────────────────────────────────────────────────


def ending(agent: Agent, changes: Mapping[str, Any] | None) -> str:
    """How a run ended, in a line. Example: `a1: done after 12.3 s: 2 files changed, 5 calls (1 blocked), $0.02`."""
    lasted = duration(max(0.0, (agent["ended_at"] or agent["started_at"]) - agent["started_at"]))
    total = sum(changes["counts"].values()) if changes is not None else 0
    calls, blocked = sum(agent["reviews"].values()), agent["reviews"].get("block", 0)
    parts = [
        "" if changes is None else f"{counted(total, 'file')} changed{shared(changes) if total else ''}",
        counted(calls, "call") + (f" ({blocked:,} blocked)" if blocked else ""),
        dollars(agent["cost_usd"]) if agent["cost_usd"] is not None else "",
        counted(len(agent["incidents"]), "incident") if agent["incidents"] else "",
    ]
    return clean(f"{agent['agent']}: {agent['state']} after {lasted}: {', '.join(filter(None, parts))}", SENTENCE)


def summing_up(agent: Agent, since: str, *, changed: bool = True) -> list[str]:
    """Return the lines below the end of a run: its tests, where its work is, and the very command that undoes it.

    Args:
        agent: What the daemon knows of it.
        since: The checkpoint of its start; empty if there is none.
        changed: Whether it changed files: a branch of its own without commits has gone with its workspace.
    """
    name, branch = clean(agent["agent"], 40), clean(agent["branch"], 200)
    if branch and not changed and agent["workspace_closed"].startswith("removed"):
        work = ""
    elif branch:
        work = f"branch {branch}: git merge {branch} takes it over, chaperon rm --force {name} drops it"
    else:
        work = f"chaperon rollback {clean(since, 80)} --agent {name}" if since else ""
    facts = {
        "tests": clean(agent.get("tests", ""), 100),
        "work" if branch else "undo": work,
        "look": f"chaperon diff {name}, chaperon show {name}",
    }
    return [f"  {label:<6} {value}" for label, value in facts.items() if value]
