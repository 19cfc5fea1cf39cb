"""Texts with fields: the names that a text may use, filling them in, and checking the user's own.

A line of a text that names a fact which is not known is left out, so that one text serves an issue with few facts and
one with many. A fact is data: it is cut, its lines are joined, and braces in it mean nothing.
"""

import difflib
import string
from collections.abc import Callable, Mapping, Sequence

from interventions.contract import Case
from interventions.texts.known_errors import ErrorKind, KnownError, recognise
from interventions.texts.remedies import remedy
from monitors.contract.errors import UsageError
from monitors.contract.issues import Issue

OPENING = "[chaperon] "
"""How every message of chaperon's begins, so that the model and a reader of the transcript know who speaks."""

MAX_FACT = 300
"""Longest fact in a text, in characters: an error message's first lines; more hides the advice."""

MAX_TEXT = 2_000
"""Longest text of the user's, in characters."""

FIELDS: Mapping[str, str] = {
    "sentence": "what is wrong, for a person",
    "type": "the issue's type",
    "severity": "low, medium, high or critical",
    "agent": "the agent's name",
    "attempt": "which attempt of the kind this is, from 1",
    "prompt": "what the task asked",
    "goals": "the task's goals, most important first",
    "primary_goal": "the first of them",
    "constraints": "the task's constraints",
    "expected_paths": "what the task should touch",
    "progress": "what the agent's own to-do list says is done, or without one the latest steps that succeeded",
    "open_tasks": "what that list says is not done, its first items",
    "others": "what else was seen, for a person",
    "error": "the error's text",
    "count": "how often it came",
    "tool": "the tool that was called",
    "file_path": "the file that it is about",
    "command": "the command that was run",
    "similar_paths": "paths that exist and are named much alike",
    "moved_to": "where git says that the file went",
    "owner_and_mode": "owner and mode of the file",
    "remedy": "what looking found about a well-understood error, and what follows from it",
    "out_of_scope_path": "a path outside the expected ones",
    "out_of_scope_paths": "all of them",
    "focus": "the directory to which most of the work belongs",
    "last_progress": "what the last progress was",
    "share": "share of touched paths outside, or of actions off the goal",
    "resource": "what grows. Example: memory_mb",
    "resources": "what is used, by resource",
    "growth": "how fast it grows",
    "limit": "the limit that it nears",
    "steps": "steps since the last progress",
    "steps_left": "steps left to the task's limit of steps, or else to the limit that grows fastest",
    "tests": "the last test result",
    "name": "what does not exist: a file, symbol, flag or tool",
    "claim": "what was claimed and is not so",
    "text": "the text that is repeated",
    "waits_for": "what the agent waits for",
    "rule": "the rule that refused",
    "reason": "its reason",
    "test": "the test that was weakened",
    "parts": "the issues that a combination is made of",
}
"""Every field that a text may name, and its meaning. A detector's further details are for plugins and reports."""


ALIASES: Mapping[str, str] = {
    "call": "command",
    "outside": "out_of_scope_paths",
    "stuck_counter": "steps",
    "directories": "count",
    "things": "name",
    "suggested_focus": "focus",
    "growth_rate": "growth",
    "used": "resources",
    "what": "test",
    "kind": "waits_for",
    "members": "parts",
}
"""Details of the detectors that stand for a field under another name."""


def facts_of(case: Case) -> dict[str, str]:
    """All facts of a case, by field, those that are known."""
    issue, task, facts = case.issue, case.situation.task, case.situation.facts
    known = _known_error(issue)
    found_by_looking = remedy(known, facts) if known else None
    about_a_path = known is not None and known.kind in (ErrorKind.FILE_NOT_FOUND, ErrorKind.PERMISSION_DENIED)
    path = str(issue.details.get("file_path") or (known.subject if known and about_a_path else ""))
    steps = [f"{step.tool} {step.summary}" for step in case.situation.history if not step.failed]
    todo = case.situation.todo
    ticked, still_open = [item.text for item in todo if item.done], [item.text for item in todo if not item.done]
    found: dict[str, object] = {
        "similar_paths": facts.similar_paths(path) if path else (),
        "moved_to": facts.moved_to(path) if path else "",
        "owner_and_mode": facts.owner_and_mode(path) if path else "",
        "remedy": found_by_looking.says if found_by_looking else "",
        **{ALIASES.get(name, name): value for name, value in issue.details.items()},
        "error": error_of(issue),
        **({"steps_left": str(left)} if (left := steps_left(case)) is not None else {}),
        "sentence": issue.sentence,
        "type": issue.type,
        "severity": issue.severity,
        "agent": case.situation.agent,
        "attempt": case.attempt,
        "prompt": task.prompt,
        "goals": task.goals,
        "primary_goal": task.goals[0] if task.goals else "",
        "constraints": task.constraints,
        "expected_paths": task.expected_paths,
        "progress": (ticked or steps)[-3:],
        "open_tasks": still_open[:3],
        "others": [other.sentence for other in case.others],
    }
    return {name: text for name in FIELDS if (text := _plain(found.get(name)))}


def steps_left(case: Case) -> int | None:
    """Return how many calls the limits leave, those in force or the task's; None if they limit no steps."""
    most = case.limits.limits.max_steps or case.situation.task.limits.max_steps
    return None if most is None else max(0, most - (case.situation.usage.steps or 0))


def _known_error(issue: Issue) -> KnownError | None:
    """The well-understood error that an issue is about; its subject from the file where the text was normalised."""
    known = recognise(error_of(issue))
    path = str(issue.details.get("file_path") or "")
    if known is None or (known.subject and "<" not in known.subject):
        return known
    about_a_path = known.kind in (ErrorKind.FILE_NOT_FOUND, ErrorKind.PERMISSION_DENIED)
    return KnownError(known.kind, path if about_a_path else "")


def error_of(issue: Issue) -> str:
    """The error as it came, or where only its normalised form is known, that."""
    error = issue.details.get("error")
    return str(issue.details.get("text") or error) if error else ""


def fill(template: str, facts: Mapping[str, str]) -> str:
    """The template with its facts, without the lines whose facts are not known."""
    kept = (line for line in template.splitlines() if fields_of(line) <= facts.keys())
    return "\n".join(line.format_map(facts) for line in kept)


def fields_of(template: str) -> set[str]:
    """The fields that a template names.

    Raises:
        ValueError: It is no template: a brace is open, or a field is more than a name.
    """
    found: set[str] = set()
    for _, name, spec, conversion in string.Formatter().parse(template):
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            raise ValueError(f"{{{name}}} is not a plain field; write a name alone, and {{{{ for a brace")
        found.add(name)
    return found


def load(
    prompts: object, types: Sequence[str] | None, place: Callable[[object], str] = lambda _: ""
) -> dict[str, tuple[str, ...]]:
    """Check the user's own texts, as they were parsed from `custom_prompts_path`.

    Args:
        prompts: A mapping from issue type to a text, or to a list of texts, one for each attempt.
        types: The issue types that there are; None if detectors of plugins may raise others.
        place: Says where the texts of a key are, in front of what is wrong with them.

    Raises:
        UsageError: With all that is wrong; no text is used then.
    """
    if not isinstance(prompts, Mapping):
        raise UsageError(
            f"The custom prompts are a {type(prompts).__name__} and were not used.",
            way_out="Write a mapping from issue type to text.",
        )
    wrong = [f"{place(key)}{problem}" for key, value in prompts.items() for problem in _problems(key, value, types)]
    if wrong:
        raise UsageError(
            f"The custom prompts have {len(wrong)} problem{'s' * (len(wrong) > 1)} and were not used: {' '.join(wrong)}",
            way_out=f"Fields: {', '.join(FIELDS)}.",
        )
    return {key: (value,) if isinstance(value, str) else tuple(value) for key, value in prompts.items()}


def _problems(key: object, value: object, types: Sequence[str] | None) -> list[str]:
    if not isinstance(key, str) or (types is not None and key not in types):
        return [f"There is no issue type {key!r}{_nearest(str(key), types or ())}."]
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        return [f"{key} is no text and no list of texts."]
    return [problem for text in texts for problem in _problems_of_text(key, text)]


def _problems_of_text(key: str, text: str) -> list[str]:
    if not text.strip() or len(text) > MAX_TEXT:
        return [f"A text of {key} has {len(text)} characters; 1 to {MAX_TEXT} are allowed."]
    try:
        names = fields_of(text)
    except ValueError as error:
        return [f"A text of {key}: {error}."]
    return [
        f"A text of {key} names the field {name!r}, which there is not{_nearest(name, list(FIELDS))}."
        for name in sorted(names - FIELDS.keys())
    ]


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _plain(value: object) -> str:
    """A fact as one line."""
    if value is None or value in ("", False):
        return ""
    if isinstance(value, Mapping):
        value = [f"{key}: {_plain(inner)}" for key, inner in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        nested = all(isinstance(inner, tuple | list) for inner in value)
        value = ", ".join(" ".join(map(_plain, inner)) if nested else _plain(inner) for inner in list(value)[:8])
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return cut(" ".join(text[: 4 * MAX_FACT].split()), MAX_FACT)


def cut(text: str, most: int) -> str:
    """The text, with its end left out if it is too long."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
