"""The full report of an incident for people. Whatever is missing in it, or of another shape, is left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from monitors.contract.wording import counted, dollars, duration
from supervisor.cli.output import terminal
from supervisor.cli.output.words import clean, local

MOST_FILES = 20
"""Files that are named; `--json` has all."""

MOST_ACTIONS = 15
"""Of the last actions, those that are shown: what led to a stop is seldom older."""

SENTENCE = 1_000
"""Characters of a sentence that are shown."""

LABEL = 11
"""Characters of the words at the left."""


def portrait(report: Mapping[str, Any]) -> list[str]:
    """The report, section by section."""
    return [
        summary(report),
        *(line for name, value in facts(report).items() for line in _labelled(name, value)),
        *(line for title, lines in sections(report).items() for line in _section(title, lines)),
        *_section("ways to go on", _options(report.get("recovery_options"))),
    ]


def summary(report: Mapping[str, Any]) -> str:
    """The incident in a sentence."""
    return clean(report.get("summary") or "An incident.", SENTENCE)


def sections(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """The lists of the report, by their titles: what led to it, and what can be learned."""
    return {
        "what happened": list(_timeline(report)),
        "last actions": list(_actions(report)),
        "what added to it": list(_sentences(report.get("contributing_factors"))),
        "what to do": list(_advice(_mapping(report.get("recommendations")))),
    }


def facts(report: Mapping[str, Any]) -> dict[str, str]:
    """Facts of the incident in one line each, by their names; one that is not known is empty."""
    impact, cause = _mapping(report.get("impact")), _mapping(report.get("root_cause"))
    moments = [each for each in _rows(report.get("timeline")) if isinstance(each.get("at"), int | float)]
    lasted = impact.get("duration_seconds")
    took = f", {duration(lasted)} after it began" if isinstance(lasted, int | float) else ""
    found = {
        "incident": f"{report.get('incident', '')} ({report.get('severity', 'severity not known')})",
        "when": f"{local(moments[-1]['at'], '%Y-%m-%d %H:%M:%S')}{took}" if moments else "",
        "task": _mapping(report.get("task")).get("prompt", ""),
        "workspace": report.get("workspace", ""),
        "session": report.get("session_id", ""),
        "why": cause.get("sentence", ""),
        "files": _files(impact),
        "used": _used(_mapping(impact.get("resources"))),
        "refused": counted(impact["refused"], "action") if isinstance(impact.get("refused"), int) else "",
    }
    return {name: clean(value, SENTENCE) for name, value in found.items()}


def _labelled(name: str, value: str) -> Iterator[str]:
    for number, line in enumerate(terminal.wrapped(value, LABEL)):
        yield f"{'' if number else name:<{LABEL}}{line.strip()}"


def _files(impact: Mapping[str, Any]) -> str:
    files = impact.get("files_affected")
    if not isinstance(files, Sequence) or isinstance(files, str):
        return ""
    named = ", ".join(clean(each) for each in files[:MOST_FILES])
    more = f" and {len(files) - MOST_FILES:,} more" if len(files) > MOST_FILES else ""
    return f"{named or 'none'}{more} ({impact.get('files_are', '')})"


def _used(resources: Mapping[str, Any]) -> str:
    def amount(name: str, value: Any) -> str:
        if name == "cost_usd":
            return dollars(value)
        if name.endswith("_mb"):
            return f"{value:,.0f} MiB {name.removesuffix('_mb')}"
        if name.endswith("_seconds"):
            return f"{duration(value)} {name.removesuffix('_seconds').replace('_', ' ')}"
        return f"{value:,} {name.replace('_', ' ')}"

    return ", ".join(amount(str(name), value) for name, value in resources.items() if isinstance(value, int | float))


def _timeline(report: Mapping[str, Any]) -> Iterator[str]:
    for moment in _rows(report.get("timeline")):
        yield f"{local(moment.get('at', 0.0))}  {clean(moment.get('what', ''), SENTENCE)}"


def _actions(report: Mapping[str, Any]) -> Iterator[str]:
    actions = list(_rows(report.get("last_actions")))
    if len(actions) > MOST_ACTIONS:
        yield f"… {counted(len(actions) - MOST_ACTIONS, 'earlier one')}"
    for action in actions[-MOST_ACTIONS:]:
        decision = clean(action.get("decision", ""), 7)
        became = "did not run" if decision == "block" else "failed" if action.get("failed") else ""
        yield f"{decision:<7} {became:<11} {clean(action.get('tool', ''), 40)} {clean(action.get('what', ''))}"


def _advice(advice: Mapping[str, Any]) -> Iterator[str]:
    titles = {"immediate": "now", "preventive": "next time", "configuration": "configuration"}
    for name, title in titles.items():
        for each in advice.get(name) or ():
            yield f"{title}: {_suggestion(each)}"


def _suggestion(each: Any) -> str:
    if isinstance(each, Mapping):
        because = clean(each.get("because", ""), SENTENCE)
        return f"{clean(each.get('key', ''))}: {clean(each.get('value', ''))}{because and f' ({because})'}"
    return clean(each, SENTENCE)


def _options(options: Any) -> Iterator[str]:
    for option in _rows(options):
        command = option.get("command")
        yield f"{clean(option.get('description', ''), SENTENCE)}"
        yield f"    {clean(command, SENTENCE) if command else 'not possible here'}"


def _sentences(found: Any) -> Iterator[str]:
    yield from (
        clean(each, SENTENCE) for each in (found if isinstance(found, Sequence) and not isinstance(found, str) else ())
    )


def _section(title: str, lines: Iterable[str]) -> list[str]:
    made = [line for each in lines for line in terminal.wrapped(each, 2)]
    return [title, *made] if made else []


def _rows(found: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(found, Sequence) and not isinstance(found, str):
        yield from (each for each in found if isinstance(each, Mapping))


def _mapping(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}
