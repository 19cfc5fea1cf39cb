"""The lines that people read of each kind of event: one line a fact.

Several events of one fact are one line: an emergency stop is the issue, the stop, and its outcome. Arithmetic and ids
are for `chaperon show --why` and for the incident.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from interventions.words import InterventionKind
from monitors.contract.error_lines import read_error_line
from monitors.contract.wording import counted, dollars, duration
from supervisor.cli.output.settings_words import summed
from supervisor.cli.output.words import COLOURS, WIDTH, clean, what
from supervisor.protocol.claude.retrying import Retrying

Record = Mapping[str, Any]

SENTENCE = 600
"""Characters of a sentence of chaperon's own that are shown: its end says what to do."""

MOST_LINES = 100
"""Lines of a model's last text that are shown: some screens; the transcript has all of it."""

LEAST_TOLD = 20
"""Characters from which a sentence is known again: shorter ones, such as `done`, mean something else each time."""

REMEMBERED = 6
"""Sentences of each agent that are not repeated: a block, its issue, the answer, the incident and two states."""

REFUSED = "PreToolUse:"
"""How the CLI's report of a blocked call begins; the block itself was shown, with its reason."""

INSTEAD = " It runs as `"
"""How the end of a reasoning says what runs instead, which has a line of its own."""

OPENING = "[chaperon] "
"""How what chaperon says to a model begins."""

STOP = InterventionKind.EMERGENCY_STOP


class ViewLine(NamedTuple):
    """One line of what is shown."""

    mark: str
    """The word that it begins with; empty for a further line of the same."""
    text: str
    colour: str = "white"
    bold: bool = False
    dim: bool = False


Lines = Iterator[ViewLine]


@dataclass(slots=True)
class ShownLines:
    """Lines shown of one agent, and lines that are held back until the events that follow."""

    told: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    held: list[ViewLine] = field(default_factory=list)
    """A critical issue, and the stop that it led to, until the incident of the stop says all of it in one line."""
    stopping: bool = False
    """Whether it is being stopped at once, and that was shown or is held back."""
    was: str = ""
    """The state in which it was when it was stopped at once."""
    stop_told: bool = False
    """Whether the command to go on from that stop was shown."""
    frozen_micros: int = 0
    ended: Record | None = None
    at: float = 0.0
    """When the last record was."""

    def flush(self) -> list[ViewLine]:
        """Return the lines that were held back, to be shown as they are."""
        held, self.held = self.held, []
        return held


def _fresh(seen: ShownLines, sentence: object, width: int = WIDTH) -> str:
    """Return a sentence without the part that was shown a moment ago; empty if all of it was."""
    whole = " ".join(str(sentence).split())
    rest = whole
    for told in seen.told:
        rest = rest.replace(told, "")
    if len(whole) >= LEAST_TOLD:
        seen.told.append(whole)
    return clean(rest.strip(" :;,") if rest != whole else whole, width)


# ── what people and chaperon begin ────────────────────────────────────────────────────────────────────────────────────


def _submitted(record: Record, _: ShownLines) -> Lines:
    yield ViewLine("task", clean(record["task"]["prompt"]), "blue", bold=True)
    where = f"{record['workspace']} on branch {record['branch']}" if record.get("branch") else record["workspace"]
    yield ViewLine("", clean(f"agent {record['agent']} in {where}, session {record['session_id']}"), "blue", dim=True)


def _workspace_closed(record: Record, _: ShownLines) -> Lines:
    became = "was removed" if record["removed"] else "is kept"
    yield ViewLine("files", clean(f"the workspace {record['workspace']} {became}: {record['why']}", SENTENCE), "blue")


def _checked(record: Record, _: ShownLines) -> Lines:
    result = record["result"]
    passed, code = result["outcome"] == "passed", result["code"]
    how = result["outcome"] + ("" if passed or code is None else f" with exit code {code}")
    when = "in a quiet moment: " if record.get("quiet") else ""
    yield ViewLine("check", clean(f"{when}`{result['command']}` {how}", SENTENCE), "green" if passed else "red")


def _settings(record: Record, _: ShownLines) -> Lines:
    if not record["off"]:
        counts = f"count here, for the repository is trusted: {summed(record['brings'])}"
        yield ViewLine("settings", clean(counts), "blue")
        return
    yield ViewLine("settings", clean(f"off for this agent: {summed(record['off'])}; chaperon trust has them"), "yellow")
    if record["left_out"]:
        left_out = f"the project's CLAUDE.md, skills and subagents are left out too: {record['left_out']}"
        yield ViewLine("", clean(left_out, SENTENCE), "yellow", dim=True)


def _trusted(record: Record, _: ShownLines) -> Lines:
    word = "let count" if record["granted"] else "not let count"
    brought = summed(record["brings"]) or "nothing any more"
    yield ViewLine(
        "trust", clean(f"by {record['by']}: settings of {record['repository']} {word}: {brought}"), "magenta"
    )


def _discovery(record: Record, _: ShownLines) -> Lines:
    yield ViewLine("note", f"for {record['scope']}: {clean(record['text'], SENTENCE)}", "magenta")


def _discovery_told(record: Record, _: ShownLines) -> Lines:
    yield ViewLine("note", f"told what {clean(record['by'])} noted: {clean(record['text'], SENTENCE)}", "magenta")


def _discovery_forgotten(record: Record, _: ShownLines) -> Lines:
    yield ViewLine("note", f"{clean(record['discovery'])} is taken back by {clean(record['by'])}", "magenta")


def _request(word: str) -> Callable[[Record, ShownLines], Lines]:
    def shown(record: Record, seen: ShownLines) -> Lines:
        said = _fresh(seen, record.get("text") or record.get("reason") or "")
        yield ViewLine(word, f"by {clean(record['by'])}{said and f': {said}'}", "magenta")

    return shown


def _allowed(record: Record, _: ShownLines) -> Lines:
    passes = " ".join(filter(None, (record["tool"], record["text"], record["rule"])))
    often = "as often as wanted" if record["uses"] is None else counted(record["uses"], "time")
    until = "" if record["seconds"] is None else f", for {duration(record['seconds'])}"
    yield ViewLine(
        "allowed", f"by {clean(record['by'])}: {clean(passes)}, {often}{until} ({clean(record['id'])})", "magenta"
    )


def _asked(record: Record, _: ShownLines) -> Lines:
    action = record["action"]
    yield ViewLine("waits", f"{clean(action['tool'], 60)} {what(action['input'])}", "yellow", bold=True)
    answer = f"chaperon approve {clean(record['agent'])} {clean(record['request_id'])}, or deny, within {duration(record['deadline_seconds'])}"
    yield ViewLine("", f"{clean(record['why']).removesuffix('.')}; {answer}", "yellow", dim=True)


def _answered(record: Record, _: ShownLines) -> Lines:
    note = clean(record["note"])
    yield ViewLine(
        "granted" if record["granted"] else "denied", f"by {clean(record['by'])}{note and f': {note}'}", "magenta"
    )


# ── what the CLI printed ──────────────────────────────────────────────────────────────────────────────────────────────


def _line(record: Record, _: ShownLines) -> Lines:
    frame = record.get("frame")
    if not isinstance(frame, Mapping):
        yield ViewLine("printed", clean(record.get("text") or frame or ""), "yellow")
    elif frame.get("subtype") == "api_retry":
        yield ViewLine("retry", clean(Retrying.of(frame).sentence), "yellow")
    elif show := {"assistant": _assistant, "user": _user, "result": _result}.get(str(frame.get("type"))):
        yield from show(frame)


def _assistant(frame: Mapping[str, Any]) -> Lines:
    for block in _blocks(frame):
        if block.get("type") == "text" and str(block.get("text", "")).strip():
            yield ViewLine("says", clean(block["text"]))


def _user(frame: Mapping[str, Any]) -> Lines:
    for block in _blocks(frame):
        if block.get("type") == "tool_result" and block.get("is_error"):
            error = clean(_text(block.get("content")))
            if not error.startswith(REFUSED):
                yield ViewLine("error", error, "red", dim=True)


def _result(frame: Mapping[str, Any]) -> Lines:
    """How a turn ended; a last text that was shortened when it was said is what was asked for, and so shown whole."""
    text = str(frame.get("result") or "")
    if len(clean(text, len(text) + 1)) > WIDTH:
        whole = text.splitlines()
        yield from (ViewLine("", clean(line, 2_000)) for line in whole[:MOST_LINES])
        if len(whole) > MOST_LINES:
            yield ViewLine("", f"… and {counted(len(whole) - MOST_LINES, 'more line', 'more lines')}", dim=True)
    cost = frame.get("total_cost_usd")
    failed = frame.get("is_error") and frame.get("subtype") == "success"  # so the CLI says that the API failed
    how = "error" if failed else clean(frame.get("subtype"))
    spent = f", {dollars(cost)} so far" if isinstance(cost, int | float) else ""
    yield ViewLine("turn", f"turn ended: {how}{spent}", "red" if frame.get("is_error") else "blue", dim=True)


def _error_line(record: Record, _: ShownLines) -> Lines:
    line = read_error_line(str(record["text"]))
    passed = record.get("passed_over")
    more = f" ({counted(passed, 'line')} before it {'is' if passed == 1 else 'are'} in err.log alone)" if passed else ""
    colour = {"error": "red", "warning": "yellow"}.get(line.level, "white")
    yield ViewLine("stderr", clean(f"{record['text']}{more}"), colour, dim=line.level == "debug")


# ── what was made of it ───────────────────────────────────────────────────────────────────────────────────────────────


def _reviewed(record: Record, seen: ShownLines) -> Lines:
    action, review = record["action"], record["review"]
    decision = review["decision"]
    acts = f"{clean(action['tool'], 60)} {what(action['input'])}"
    yield ViewLine(decision, acts, COLOURS[decision], bold=decision != "allow")
    if review.get("updated_input"):
        yield ViewLine("", f"runs as: {what(review['updated_input'])}", "cyan")
    if decision != "allow" or review.get("allowance"):
        reasoning = str(review["reasoning"])
        if review.get("updated_input"):
            reasoning = reasoning.partition(INSTEAD)[0]
        why = _fresh(seen, reasoning, SENTENCE) or "as before"
        yield ViewLine("", f"{clean(review['rule'])}: {why}", dim=True)


def _issue(record: Record, seen: ShownLines) -> Lines:
    issue = record["issue"]
    held = seen.flush()
    said = _fresh(seen, issue["sentence"], SENTENCE)
    word, colour = "over" if issue["closed"] else "issue", COLOURS[issue["severity"]]
    line = ViewLine(word, f"{clean(issue['type'])}{said and f': {said}'}", colour)
    if issue["severity"] == "critical" and not issue["closed"]:
        seen.held.append(line)
        yield from held
    else:
        yield from (*held, line)


def _intervention(record: Record, seen: ShownLines) -> Lines:
    chosen = record["intervention"]
    if chosen["kind"] == STOP:
        seen.stopping = True
        seen.held.append(ViewLine("stop", f"emergency stop: {clean(chosen['reason'])}", "bright_red", bold=True))
        return
    yield from seen.flush()
    said = _fresh(seen, str(chosen["message"]).removeprefix(OPENING)) or clean(chosen["reason"])
    yield ViewLine("answer", f"{clean(chosen['kind'])}: {said}", "magenta", bold=True)


def _incident(record: Record, seen: ShownLines) -> Lines:
    """An incident; one of an answer says what the issue and the answer have said already."""
    incident = record["incident"]
    if incident["type"] == STOP:
        yield _stop(incident, seen)
        return
    yield from seen.flush()
    if incident["type"] in _ANSWERS:
        return
    if said := _fresh(seen, incident["summary"], SENTENCE):
        yield ViewLine("incident", f"{clean(incident['type'])}: {said}", COLOURS[incident["severity"]], bold=True)
    if way_out := clean(incident.get("way_out") or "", SENTENCE):
        yield ViewLine("", way_out, dim=True)


def _fault(record: Record, seen: ShownLines) -> Lines:
    """A fault, whole each time: the same one before it may be hours old."""
    whole = " ".join(str(record["incident"]["summary"]).split())
    while whole in seen.told:
        seen.told.remove(whole)
    yield from _incident(record, seen)


def _stop(incident: Mapping[str, Any], seen: ShownLines) -> ViewLine:
    """Return the line of an emergency stop: its reason, and the command to go on."""
    held = seen.flush()
    why = held[0].text if held and held[0].mark == "issue" else _fresh(seen, incident["summary"], SENTENCE)
    seen.stop_told = True
    told = f"emergency stop for {why}; to go on: chaperon recover {clean(incident['id'])}"
    return ViewLine("stop", told, "bright_red", bold=True)


def _aftermath(record: Record, seen: ShownLines) -> Lines:
    found = record["aftermath"]
    files = counted(len(found["files"]) + found["more_files"], "file")
    left = counted(len(found["leftovers"]), "thing")
    more = "" if seen.stop_told else f"; to go on: chaperon recover {clean(record['incident_id'])}"
    yield ViewLine("after", f"{files} changed, {left} left behind{more}", "magenta")


def _state(record: Record, seen: ShownLines) -> Lines:
    before, after = clean(record["before"]), clean(record["after"])
    if seen.stopping and after == "stopping":
        seen.was = before
        return
    yield from seen.flush()
    why = _how_it_ended(seen) if after == "stopped" and seen.ended is not None else _fresh(seen, record["why"])
    yield ViewLine("state", f"{seen.was or before} → {after}{why and f': {why}'}", "blue")
    if after != "stopping":
        seen.stopping, seen.was, seen.ended, seen.frozen_micros = False, "", None, 0


def _how_it_ended(seen: ShownLines) -> str:
    assert seen.ended is not None
    took = f"ended within {duration(int(seen.ended['micros']) / 1e6)}"
    if seen.frozen_micros:
        took = f"were frozen after {duration(seen.frozen_micros / 1e6)} and {took}"
    left = int(seen.ended["left"])
    return (
        f"all processes {took}"
        if not left
        else f"processes {took}, but {counted(left, 'process', 'processes')} could not be"
    )


def _frozen(record: Record, seen: ShownLines) -> Lines:
    seen.frozen_micros = int(record["micros"])
    return iter(())


def _ended(record: Record, seen: ShownLines) -> Lines:
    seen.ended = record
    return iter(())


def _recovery(record: Record, seen: ShownLines) -> Lines:
    yield ViewLine("again", _fresh(seen, record["recovery"]["why"], SENTENCE), "yellow", bold=True)


def _judged(record: Record, _: ShownLines) -> Lines:
    said = "stuck" if record["stuck"] else "not stuck"
    told = record["problem"] or f"{said}, {record['confidence']:.0%} sure: {record['sentence']}"
    yield ViewLine("judge", clean(told), "yellow" if record["stuck"] else "blue", dim=True)


def _adjusted(record: Record, _: ShownLines) -> Lines:
    made = record["adjustment"]
    factors = f"times {made['after']:g} instead of {made['before']:g}"
    yield ViewLine("learned", f"thresholds of {clean(made['pattern'])} {factors}: {clean(made['because'])}", "magenta")


def _restored(record: Record, _: ShownLines) -> Lines:
    paths = counted(int(record["restored"]), "path")
    yield ViewLine(
        "back", clean(f"at {record['checkpoint']}: {paths}; to undo: chaperon rollback {record['undo']}"), "magenta"
    )


def _with_facts(mark: str, text: str, colour: str = "white") -> Callable[[Record, ShownLines], Lines]:
    """A line that is a text with the record's facts."""

    def shown(record: Record, _: ShownLines) -> Lines:
        took = duration(record.get("micros", 0) / 1e6)
        yield ViewLine(mark, clean(text.format_map({**record, "took": took})), colour, dim=True)

    return shown


def _added(record: Record, _: ShownLines) -> Lines:
    for task in record["tasks"]:
        yield ViewLine("task", clean(f"{task['id']} was added by {record['by']}: {task['prompt'][:120]}"), "magenta")


FOUND = {
    "reattached": "it runs on",
    "exited": "it has ended meanwhile",
    "lost": "it is gone",
    "terminal": "it had ended before",
    "launched": "it was being started",
    "silent": "the process that holds its CLI does not answer yet",
}
"""A daemon's findings about an agent that it took over."""


def _adopted(record: Record, _: ShownLines) -> Lines:
    found = FOUND.get(record["outcome"], clean(record["outcome"]))
    yield ViewLine("adopted", f"taken over from the daemon before: {found}", dim=True)


_ANSWERS = frozenset(InterventionKind)

HOLDING = frozenset({"issue_seen", "intervention_chosen", "incident_opened", "state_changed"})
"""Records that decide themselves whether what is held is shown before them."""

SHOWN: dict[str, Callable[[Record, ShownLines], Lines]] = {
    "task_submitted": _submitted,
    "workspace_closed": _workspace_closed,
    "check_made": _checked,
    "settings_found": _settings,
    "trust_decided": _trusted,
    "discovery_noted": _discovery,
    "discovery_told": _discovery_told,
    "discovery_forgotten": _discovery_forgotten,
    "line_received": _line,
    "error_line_received": _error_line,
    "review_made": _reviewed,
    "approval_asked": _asked,
    "approval_given": _answered,
    "recovery_taken": _with_facts("{option} of {incident_id} was carried out for {by}", "magenta"),
    "allowance_given": _allowed,
    "host_refused": _with_facts(
        "waits", "{host}, a host that it was refused: {why}; chaperon approve {agent} {id} opens it", "yellow"
    ),
    "host_denied": _with_facts("", "the host {host} is not opened, says {by}", "magenta"),
    "allowance_revoked": _with_facts("", "{id} is allowed no more, says {by}", "magenta"),
    "issue_seen": _issue,
    "intervention_chosen": _intervention,
    "incident_opened": _incident,
    "fault_seen": _fault,
    "aftermath_seen": _aftermath,
    "state_changed": _state,
    "say_requested": _request("say"),
    "redirect_requested": _request("redirect"),
    "pause_requested": _request("pause"),
    "resume_requested": _request("resume"),
    "stop_requested": _request("stop"),
    "outcome_given": _with_facts("", "{pattern}: {outcome}, says {by} {note}", "magenta"),
    "pattern_adjusted": _adjusted,
    "judge_answered": _judged,
    "checkpoint_requested": _with_facts("", "a checkpoint {name} is wanted by {by}"),
    "checkpoint_made": _with_facts("", "checkpoint {name} ({took})"),
    "capture_failed": _with_facts("", "no checkpoint: {error}", "red"),
    "rollback_requested": _with_facts("back", "to {checkpoint}, says {by}", "magenta"),
    "checkpoint_restored": _restored,
    "restore_failed": _with_facts("back", "not at {checkpoint}: {error}", "red"),
    "tree_frozen": _frozen,
    "tree_ended": _ended,
    "agent_adopted": _adopted,
    "recovery_chosen": _recovery,
    "daemon_started": _with_facts("", "daemon {version} started, pid {pid}"),
    "work_taken_over": _with_facts("", "{summary}"),
    "policy_changed": _with_facts("", "policy {digest} instead of {before}"),
    "daemon_stopped": _with_facts("", "daemon stopped: {reason}"),
    "tasks_added": _added,
    "task_edited": _with_facts("task", "{task[id]} was changed by {by}"),
    "task_reordered": _with_facts("task", "{task} has another place, says {by}"),
    "task_claimed": _with_facts("task", "{task} is claimed by {worker} (run {run_id})"),
    "task_moved": _with_facts("task", "{task}: {before} → {after} ({why})", "magenta"),
}


def _blocks(frame: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    message = frame.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(block.get("text", "")) for block in content if isinstance(block, Mapping))
    return str(content or "")
