"""From events of the journal to what a person reads: one line a fact, coloured in a terminal, plain in a pipe.

Pure: a record in, lines out. What the model writes is shown without control characters, so that no agent can paint the
terminal of who watches it.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from click import style

from supervisor.cli.settings_words import summed
from supervisor.protocol.actions import subject_of
from supervisor.protocol.error_lines import read_error_line
from supervisor.protocol.retrying import Retrying

Record = Mapping[str, Any]

WIDTH = 160
"""Characters of what an agent says or does that are shown; the journal has all of it."""

SENTENCE = 600
"""The same of a sentence of chaperon's own: its end says what to do."""

REFUSED = "PreToolUse:"
"""How the CLI's report of a blocked call begins; the block itself was shown, with its reason."""

COLOURS = {
    "allow": "green", "warn": "yellow", "modify": "cyan", "block": "red",
    "low": "white", "medium": "yellow", "high": "red", "critical": "bright_red",
}  # fmt: skip


def lines(record: Record, *, names: bool = False) -> Iterator[str]:
    """What one record of the journal says to a person; often nothing, since much of it is for machines.

    Args:
        record: A record, decoded.
        names: Whether to begin with the agent's name, for views of several.
    """
    shown = _SHOWN.get(record.get("kind", ""))
    for mark, text in shown(record) if shown else ():
        who = f"{record['agent'] or 'daemon':<6} " if names else ""
        yield f"{style(local(record['at']), dim=True)} {who}{mark} {text}"


def shown(record: Record, *, names: bool = False) -> list[str]:
    """The same as a list; of a record that has another shape than its kind has here, a line that says so."""
    try:
        return list(lines(record, names=names))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        about = clean(f"event {record.get('n')} ({record.get('kind')}): {error!r}")
        return [f"{_mark('?', 'yellow')} {about}; chaperon tail --json has it as it is"]


def local(at: float, form: str = "%H:%M:%S") -> str:
    """A Unix time as a clock on the wall here shows it."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime(form)


Shown = Iterator[tuple[str, str]]


def _mark(word: str, colour: str, *, bold: bool = False) -> str:
    return style(f"{word:<8}", fg=colour, bold=bold)


def _submitted(record: Record) -> Shown:
    yield _mark("task", "blue", bold=True), clean(record["task"]["prompt"])
    where = f"{record['workspace']} on branch {record['branch']}" if record.get("branch") else record["workspace"]
    yield _mark("", "blue"), style(clean(f"in {where}, session {record['session_id']}"), dim=True)


def _workspace_closed(record: Record) -> Shown:
    what = "was removed" if record["removed"] else "is kept"
    yield _mark("files", "blue"), clean(f"the workspace {record['workspace']} {what}: {record['why']}")


def _settings(record: Record) -> Shown:
    if not record["off"]:
        yield _mark("settings", "blue"), clean(f"count here, for the repository is trusted: {summed(record['brings'])}")
        return
    yield _mark("settings", "yellow"), clean(f"off for this agent: {summed(record['off'])}; chaperon trust has them")
    if record["left_out"]:
        left_out = f"the project's CLAUDE.md, skills and subagents are left out too: {record['left_out']}"
        yield _mark("", "yellow"), style(clean(left_out, SENTENCE), dim=True)


def _trusted(record: Record) -> Shown:
    word = "let count" if record["granted"] else "not let count"
    what = summed(record["brings"]) or "nothing any more"
    yield _mark("trust", "magenta"), clean(f"by {record['by']}: settings of {record['repository']} {word}: {what}")


def _line(record: Record) -> Shown:
    frame = record.get("frame")
    if frame is None:
        yield _mark("printed", "yellow"), clean(record.get("text") or "")
        return
    if frame.get("subtype") == "api_retry":
        yield _mark("retry", "yellow"), clean(Retrying.of(frame).sentence)
        return
    show = {"assistant": _assistant, "user": _user, "result": _result}.get(str(frame.get("type")))
    if show is not None:
        yield from show(frame)


def _error_line(record: Record) -> Shown:
    line = read_error_line(str(record["text"]))
    passed = f" ({record['passed_over']} lines before it are in err.log alone)" if record.get("passed_over") else ""
    colour = {"error": "red", "warning": "yellow"}.get(line.level, "white")
    yield _mark("stderr", colour), style(clean(f"{record['text']}{passed}"), dim=line.level == "debug")


def _assistant(frame: Mapping[str, Any]) -> Shown:
    for block in _blocks(frame):
        if block.get("type") == "text" and str(block.get("text", "")).strip():
            yield _mark("says", "white"), clean(str(block["text"]))


def _user(frame: Mapping[str, Any]) -> Shown:
    for block in _blocks(frame):
        if block.get("type") == "tool_result" and block.get("is_error"):
            error = clean(_text(block.get("content")))
            if not error.startswith(REFUSED):
                yield _mark("error", "red"), style(error, dim=True)


def _result(frame: Mapping[str, Any]) -> Shown:
    """How a turn ended; a last text that was shortened when it was said is what was asked for, and so shown whole."""
    text = str(frame.get("result") or "")
    if len(clean(text, len(text) + 1)) > WIDTH:
        yield from ((_mark("", "white"), clean(line, len(line) + 1)) for line in text.splitlines())
    cost = frame.get("total_cost_usd")
    failed = frame.get("is_error") and frame.get("subtype") == "success"  # so the CLI says that the API failed
    told = f"turn ended: {'error' if failed else frame.get('subtype')}" + (
        f", ${cost:.4f} so far" if isinstance(cost, (int, float)) else ""
    )
    yield _mark("turn", "red" if frame.get("is_error") else "blue"), style(clean(told), dim=True)


def _reviewed(record: Record) -> Shown:
    action, review = record["action"], record["review"]
    decision = review["decision"]
    yield (
        _mark(decision, COLOURS[decision], bold=decision != "allow"),
        f"{clean(action['tool'], 60)} {what(action['input'])}",
    )
    if review.get("updated_input"):
        yield _mark("", "cyan"), f"runs as: {what(review['updated_input'])}"
    if decision != "allow" or review.get("allowance"):
        yield _mark("", "white"), style(clean(f"{review['rule']}: {review['reasoning']}", SENTENCE), dim=True)


def _asked(record: Record) -> Shown:
    action = record["action"]
    yield _mark("waits", "yellow", bold=True), f"{action['tool']} {what(action['input'])}"
    told = (
        f"{clean(record['why'])}; chaperon approve {record['agent']}, or deny, within {record['deadline_seconds']:g} s"
    )
    yield _mark("", "yellow"), style(told, dim=True)


def _answered(record: Record) -> Shown:
    word = "granted" if record["granted"] else "denied"
    yield _mark(word, "magenta"), f"by {record['by']}: {clean(record['note'])}"


def _issue(record: Record) -> Shown:
    issue = record["issue"]
    word = "over" if issue["closed"] else "issue"
    yield _mark(word, COLOURS[issue["severity"]]), f"{issue['type']}: {clean(issue['sentence'])}"


def _intervention(record: Record) -> Shown:
    chosen = record["intervention"]
    yield _mark("answer", "magenta", bold=True), f"{chosen['kind']}: {clean(chosen['message'] or chosen['reason'])}"


def _incident(record: Record) -> Shown:
    incident = record["incident"]
    told = f"{incident['id']}: {clean(incident['summary'], SENTENCE)}"
    yield _mark("incident", COLOURS[incident["severity"]], bold=True), told
    if way_out := incident.get("way_out"):
        yield _mark("", "white"), style(clean(way_out, SENTENCE), dim=True)


def _aftermath(record: Record) -> Shown:
    found = record["aftermath"]
    files = len(found["files"]) + found["more_files"]
    left = len(found["leftovers"])
    told = f"{files} files changed, {left} things left behind: chaperon recover {record['incident_id']}"
    yield _mark("after", "magenta"), clean(told, SENTENCE)


def _state(record: Record) -> Shown:
    yield _mark("state", "blue"), f"{record['before']} → {record['after']}: {clean(record['why'])}"


def _recovery(record: Record) -> Shown:
    yield _mark("again", "yellow", bold=True), clean(record["recovery"]["why"])


def _wish(word: str) -> Callable[[Record], Shown]:
    def shown(record: Record) -> Shown:
        yield _mark(word, "magenta"), f"by {record['by']}: {clean(record.get('text') or record.get('reason') or '')}"

    return shown


def _allowed(record: Record) -> Shown:
    what = " ".join(filter(None, (record["tool"], record["text"], record["rule"])))
    once = "as often as wanted" if record["uses"] is None else f"{record['uses']} time{'s' * (record['uses'] > 1)}"
    until = "" if record["seconds"] is None else f", for {record['seconds']:g} s"
    yield _mark("allowed", "magenta"), f"by {record['by']}: {clean(what)}, {once}{until} ({record['id']})"


def _judged(record: Record) -> Shown:
    said = "stuck" if record["stuck"] else "not stuck"
    told = record["problem"] or f"{said}, {record['confidence']:.0%} sure: {record['sentence']}"
    yield _mark("judge", "yellow" if record["stuck"] else "blue"), style(clean(told), dim=True)


def _adjusted(record: Record) -> Shown:
    made = record["adjustment"]
    what = f"thresholds of {made['pattern']} times {made['after']:g} instead of {made['before']:g}: {clean(made['because'])}"
    yield _mark("learned", "magenta"), what


def _told(text: str, colour: str = "white") -> Callable[[Record], Shown]:
    def shown(record: Record) -> Shown:
        took = f"{record.get('micros', 0) / 1000:.1f} ms"
        yield _mark("", colour), style(clean(text.format_map({**record, "took": took})), dim=True)

    return shown


_SHOWN: dict[str, Callable[[Record], Shown]] = {
    "task_submitted": _submitted,
    "workspace_closed": _workspace_closed,
    "settings_found": _settings,
    "trust_decided": _trusted,
    "line_received": _line,
    "error_line_received": _error_line,
    "review_made": _reviewed,
    "approval_asked": _asked,
    "approval_given": _answered,
    "recovery_taken": _told("{option} of {incident_id} was carried out for {by}", "magenta"),
    "allowance_given": _allowed,
    "allowance_revoked": _told("{id} is allowed no more, says {by}", "magenta"),
    "issue_seen": _issue,
    "intervention_chosen": _intervention,
    "incident_opened": _incident,
    "fault_seen": _incident,
    "aftermath_seen": _aftermath,
    "state_changed": _state,
    "say_requested": _wish("say"),
    "redirect_requested": _wish("redirect"),
    "pause_requested": _wish("pause"),
    "resume_requested": _wish("resume"),
    "stop_requested": _wish("stop"),
    "outcome_given": _told("{pattern}: {outcome}, says {by} {note}", "magenta"),
    "pattern_adjusted": _adjusted,
    "judge_answered": _judged,
    "checkpoint_requested": _told("a checkpoint {name} is wanted by {by}"),
    "checkpoint_made": _told("checkpoint {name} ({took})"),
    "capture_failed": _told("no checkpoint: {error}", "red"),
    "rollback_requested": _told("back to {checkpoint}, says {by}"),
    "checkpoint_restored": _told("back at {checkpoint}: {restored} paths; to undo: rollback {undo}", "magenta"),
    "restore_failed": _told("not back at {checkpoint}: {error}", "red"),
    "tree_frozen": _told("all processes stand still after {took}"),
    "tree_ended": _told("all processes ended after {took}, {left} left"),
    "agent_adopted": _told("taken over from the daemon before: {outcome}"),
    "recovery_chosen": _recovery,
    "daemon_started": _told("daemon {version} started, pid {pid}"),
    "daemon_stopped": _told("daemon stopped: {reason}"),
}


def clean(text: str, width: int = WIDTH) -> str:
    """The text in one line, without control characters, shortened."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def what(given: Any) -> str:
    """What a tool's input is about: its command, file, pattern, address or prompt."""
    if not isinstance(given, Mapping):
        return ""
    return clean(subject_of(given) or str(given or ""))


def _blocks(frame: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    message = frame.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(block.get("text", "")) for block in content if isinstance(block, Mapping))
    return str(content or "")
