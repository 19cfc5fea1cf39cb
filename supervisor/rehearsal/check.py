"""The outcome of a rehearsal, compared with a scenario's expectations. Pure: the runner fills in the outcome."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from interventions.decisions import Incident, Intervention
from monitors.contract.actions import Review
from monitors.contract.issues import Issue
from monitors.contract.wording import counted
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.expect import DecisionExpected, Expect, FileExpected, InterventionExpected, ToldExpected
from supervisor.rehearsal.model_requests import Request, all_that_the_model_was_told, what_the_model_was_told
from supervisor.rehearsal.scenario import Scenario


@dataclass(frozen=True, slots=True)
class RehearsalOutcome:
    """The outcome of a rehearsal."""

    reviews: Mapping[str, Review]
    """The gate's answers, by the id of the tool call (`Scenario.calls` says which step each belongs to)."""
    requests: Sequence[Request]
    """Requests to the scripted model, in order."""
    files: Mapping[str, bytes | None]
    """The files that the scenario expects something of, by their path as it says it; None if there is none."""
    incidents: Sequence[Incident]
    issues: Sequence[Issue]
    interventions: Sequence[Intervention]
    state: AgentState
    """The agent's, at the end."""
    exit_code: int | None
    """The CLI's; None if a signal ended it, or it never ran."""


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """Something that is not as expected, or, where `fails` is false, only worth a word."""

    place: str
    """The expectation. Example: `expect.decisions[2]`."""
    says: str
    """The expectation and the event, in a sentence."""
    fails: bool = True


def check(scenario: Scenario, outcome: RehearsalOutcome) -> list[CheckFinding]:
    """Return what is not as expected, in the order of the scenario's file; nothing if all is."""
    if not scenario.expect.model_fields_set:
        says = "The scenario expects nothing, so nothing was checked."
        return [CheckFinding("expect", says, fails=False)]
    return [finding for look in _LOOKS for finding in look(scenario, outcome)]


def _decisions(scenario: Scenario, outcome: RehearsalOutcome) -> Iterator[CheckFinding]:
    calls = scenario.calls()
    for number, expected in enumerate(scenario.expect.decisions):
        for call_id, (step, call) in calls.items():
            if step == expected.step and expected.call in (None, call):
                says = _decision(expected, call, outcome.reviews.get(call_id))
                if says:
                    yield CheckFinding(f"expect.decisions[{number}]", says)


def _decision(expected: DecisionExpected, call: int, review: Review | None) -> str:
    wanted = expected.decision + (f" by {expected.rule}" if expected.rule else "")
    where = f"Step {expected.step!r}, call {call}"
    if review is None:
        return f"{where}: expected {wanted}, but the call was never reviewed."
    if review.decision is expected.decision and expected.rule in (None, review.rule):
        return ""
    got = review.decision + (f" by {review.rule}" if review.rule else "")
    return f"{where}: expected {wanted}, but it was {got}: {review.reasoning}"


def _told(scenario: Scenario, outcome: RehearsalOutcome) -> Iterator[CheckFinding]:
    for number, expected in enumerate(scenario.expect.told):
        place, when = f"expect.told[{number}]", _when(expected)
        text = _text_told(scenario, outcome, expected)
        if text is None:
            yield CheckFinding(place, f"The model was not asked again {when}, so it was told nothing.")
            continue
        for wanted in expected.contains:
            if wanted not in text:
                yield CheckFinding(place, f"The model was not told {wanted!r} {when}; it was told {_short(text)!r}.")
        for unwanted in expected.lacks:
            if unwanted in text:
                yield CheckFinding(place, f"The model was told {unwanted!r} {when}, which was not expected.")


def _when(expected: ToldExpected) -> str:
    if expected.at:
        return f"in answer to step {expected.at!r}"
    return f"after step {expected.after!r}" if expected.after else "in the run"


def _text_told(scenario: Scenario, outcome: RehearsalOutcome, expected: ToldExpected) -> str | None:
    """Return the text that the model got at the expected place; None if it had no request there."""
    places = {name: (script, number) for name, script, number, _ in scenario.named_steps()}
    if expected.at:
        script, step = places[expected.at]
        requests = [each for each in outcome.requests if (each.script, each.step) == (script, step + 1)]
    elif expected.after:
        script, step = places[expected.after]
        requests = [each for each in outcome.requests if each.script == script and (each.step or 0) > step]
    else:
        requests = [each for each in outcome.requests if each.script is not None]
    return "\n".join(what_the_model_was_told(each) for each in requests) if requests else None


def _files(scenario: Scenario, outcome: RehearsalOutcome) -> Iterator[CheckFinding]:
    for number, expected in enumerate(scenario.expect.files):
        for says in _file(expected, outcome.files.get(expected.path)):
            yield CheckFinding(f"expect.files[{number}]", f"{expected.path} {says}.")


def _file(expected: FileExpected, content: bytes | None) -> Iterator[str]:
    if content is None:
        if expected.exists:
            yield "should be there and is not"
        return
    if not expected.exists:
        yield f"should not be there and has {counted(len(content), 'byte')}"
        return
    text = content.decode(errors="replace")
    if expected.content is not None and content != expected.content.encode():
        yield f"should be {_short(expected.content)!r} and is {_short(text)!r}"
    yield from (f"lacks {wanted!r}; it is {_short(text)!r}" for wanted in expected.contains if wanted not in text)
    yield from (f"has {unwanted!r}, which was not expected" for unwanted in expected.lacks if unwanted in text)


def _incidents(scenario: Scenario, outcome: RehearsalOutcome) -> Iterator[CheckFinding]:
    expected = scenario.expect.incidents
    happened = [(each.type, each.severity) for each in outcome.incidents]
    wanted = None if expected is None else [(each.type, each.severity) for each in expected]
    yield from _occurred("incident", "expect.incidents", wanted, happened)


def _issues(scenario: Scenario, outcome: RehearsalOutcome) -> Iterator[CheckFinding]:
    expected = scenario.expect.issues
    happened = [(each.type, each.severity) for each in outcome.issues if not each.closed]
    wanted = None if expected is None else [(each.type, each.severity) for each in expected]
    yield from _occurred("issue", "expect.issues", wanted, happened)


def _interventions(scenario: Scenario, outcome: RehearsalOutcome) -> Iterator[CheckFinding]:
    expected, place = scenario.expect.interventions, "expect.interventions"
    happened = [(each.kind.value, each.issue.type) for each in outcome.interventions]
    wanted = None if expected is None else [(each.kind.value, each.issue) for each in expected]
    yield from _occurred("intervention", place, wanted, happened)
    for number, each in enumerate(expected or ()):
        if each.told and not _was_told(each, outcome):
            says = f"The message of the {each.kind} is in no request to the model, so the model never received it."
            yield CheckFinding(f"{place}[{number}]", says)


def _was_told(expected: InterventionExpected, outcome: RehearsalOutcome) -> bool:
    messages = [
        each.message
        for each in outcome.interventions
        if each.kind is expected.kind and expected.issue in (None, each.issue.type) and each.message
    ]
    told = [all_that_the_model_was_told(request) for request in outcome.requests]
    return any(message in text for message in messages for text in told)


def _occurred(
    what: str, place: str, expected: Sequence[tuple[str, str | None]] | None, happened: Sequence[tuple[str, str]]
) -> Iterator[CheckFinding]:
    """Yield a finding for each event that happened less often than expected.

    If none is expected, each event is a finding.
    """
    if expected is None:
        return
    left = list(happened)
    seen = ", ".join(f"{kind} ({detail})" for kind, detail in happened) or "none"
    if not expected and happened:
        yield CheckFinding(place, f"No {what} was expected, but there were: {seen}.")
    for number, (kind, detail) in enumerate(expected):
        match = next((each for each in left if each[0] == kind and detail in (None, each[1])), None)
        if match is None:
            wanted = f"{kind} ({detail})" if detail else kind
            yield CheckFinding(f"{place}[{number}]", f"The {what} {wanted} was expected; there were: {seen}.")
        else:
            left.remove(match)


def _end(scenario: Scenario, outcome: RehearsalOutcome) -> Iterator[CheckFinding]:
    expect: Expect = scenario.expect
    if expect.last_step is not None:
        places = {name: number for name, script, number, _ in scenario.named_steps() if script == 0}
        last = max((each.step or 0 for each in outcome.requests if each.script == 0), default=-1)
        if last != places.get(expect.last_step):
            name = next(
                (name for name, number in places.items() if number == last), "none" if last < 0 else "past the end"
            )
            yield CheckFinding("expect.last_step", f"The last step should be {expect.last_step!r} and was {name!r}.")
    if expect.state is not None and outcome.state is not expect.state:
        yield CheckFinding("expect.state", f"The agent should end as {expect.state} and is {outcome.state}.")
    if expect.exit is not None and outcome.exit_code != expect.exit:
        yield CheckFinding(
            "expect.exit", f"The CLI should exit with {expect.exit}, and its exit code is {outcome.exit_code}."
        )


def _short(text: str) -> str:
    """The end of a long text, where the news is."""
    return text if len(text) <= 300 else f"…{text[-300:]}"


_LOOKS: tuple[Callable[[Scenario, RehearsalOutcome], Iterator[CheckFinding]], ...] = (
    _decisions,
    _told,
    _files,
    _incidents,
    _issues,
    _interventions,
    _end,
)
