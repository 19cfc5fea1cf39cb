import dataclasses
import json
import zlib
from dataclasses import asdict
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.decisions import Incident
from monitors.contract import anyjson
from monitors.contract.actions import Action, Factor, Review, SideEffect, Touch
from monitors.contract.words import Decision, Severity
from supervisor.protocol import records
from supervisor.protocol.events import (
    AgentExited,
    AnyEvent,
    ChangesSeen,
    IncidentOpened,
    LineReceived,
    ReviewMade,
    StateChanged,
    TimerFired,
)
from supervisor.protocol.records import ORIGIN, RecordError, UnknownEvent
from supervisor.protocol.words import AgentState
from tests.recordings.record_journal import JOURNAL
from tests.support import acting

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
TIMES = {"at": st.floats(0, 4e9), "mono": st.floats(0, 1e9)}
LINES = st.builds(LineReceived, agent=TEXT, end=st.integers(0, 2**63 - 1), frame=JSON, text=st.none() | TEXT, **TIMES)
REVIEWS = st.builds(
    ReviewMade,
    agent=TEXT,
    request_id=TEXT,
    action=st.builds(Action, tool=TEXT, input=st.dictionaries(TEXT, JSON, max_size=3)),
    review=st.builds(
        Review,
        decision=st.sampled_from(Decision),
        risk=st.floats(0, 1),
        rationality=st.floats(0, 1),
        severity=st.sampled_from(Severity),
        reasoning=TEXT,
        side_effects=st.tuples(
            st.builds(SideEffect, type=TEXT, severity=st.sampled_from(Severity), reversible=st.booleans(), details=TEXT)
        ),
        touches=st.tuples(st.builds(Touch, path=TEXT, access=TEXT)),
        risk_factors=st.tuples(st.builds(Factor, name=TEXT, weight=st.floats(-1, 1))),
        updated_input=st.none() | st.dictionaries(TEXT, JSON, max_size=3),
    ),
    **TIMES,
)
CHANGES = st.builds(ChangesSeen, agent=TEXT, tool_use_id=TEXT, paths=st.lists(TEXT, max_size=3).map(tuple), **TIMES)
INCIDENTS = st.builds(
    IncidentOpened,
    agent=TEXT,
    incident=st.builds(
        Incident, id=TEXT, at=TIMES["at"], agent=TEXT, type=TEXT, severity=st.sampled_from(Severity), summary=TEXT
    ),
    report=st.none() | st.dictionaries(TEXT, JSON, max_size=3),
    **TIMES,
)
TIMERS = st.builds(TimerFired, agent=TEXT, name=TEXT, **TIMES)
EVENTS: st.SearchStrategy[Any] = LINES | REVIEWS | CHANGES | INCIDENTS | TIMERS


def timer(name: str = "t") -> TimerFired:
    return TimerFired(agent="a1", at=1.5, mono=2.5, name=name)


def chain(*events: AnyEvent) -> list[bytes]:
    lines, previous = [], ORIGIN
    for n, event in enumerate(events, 1):
        line, previous = records.encode(n, event, previous)
        lines.append(line)
    return lines


def read_chain(lines: list[bytes]) -> list[AnyEvent | UnknownEvent]:
    events, previous = [], ORIGIN
    for n, line in enumerate(lines, 1):
        events.append(records.decode(line, n, previous).event)
        previous = records.line_hash(line)
    return events


@given(EVENTS, st.integers(1, 2**63))
def test_an_event_is_read_back_equal(event: AnyEvent, n: int) -> None:
    line, line_hash = records.encode(n, event, ORIGIN)
    assert records.decode(line, n, ORIGIN) == records.JournalRecord(n, event)
    assert line_hash == records.line_hash(line)


@given(EVENTS)
def test_a_line_is_one_json_object_with_the_events_own_fields(event: AnyEvent) -> None:
    line, _ = records.encode(7, event, ORIGIN)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    for read in (json.loads, orjson.loads):
        fields = read(line)
        assert fields["n"] == 7
        assert fields["kind"] == event.kind
        assert fields["p"] == ORIGIN
        assert next(iter(fields)) == "n"
        assert list(fields)[-2:] == ["p", "c"]


@given(EVENTS)
def test_a_line_holds_nothing_that_a_terminal_acts_upon(event: AnyEvent) -> None:
    line, _ = records.encode(7, event, ORIGIN)
    assert acting(line.decode()) == {"\n"}
    assert len(line.decode().splitlines()) == 1


@given(EVENTS)
def test_whose_and_when_is_told_by_the_beginning_of_a_line(event: AnyEvent) -> None:
    line, _ = records.encode(7, event, ORIGIN)
    assert records._BEGINNING.match(line)
    whose, at = records.whose_and_when(line)
    assert at == event.at
    assert whose == orjson.loads(line)["agent"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"n": 1, "kind": "x", "at": 2.5, "agent": "a1"}', ("a1", 2.5)),
        (b'{"n":1,"agent":"a1","at":null,"mono":1.0}', ("", 0.0)),
        (b'{"n":1', ("", 0.0)),
        (b"[]", ("", 0.0)),
    ],
)
def test_whose_and_when_of_a_line_of_another_make_is_told_where_it_can_be(line: bytes, told: tuple[str, float]) -> None:
    assert records.whose_and_when(line) == told


def test_a_line_of_an_older_version_with_half_a_character_is_read_as_it_was_meant() -> None:
    event = ChangesSeen(agent="a1", at=1.0, mono=2.0, tool_use_id="t", paths=("/w/bad\udcff",))
    line, _ = records.frame(1, json.dumps(asdict(event)).encode(), ORIGIN)
    with pytest.raises(ValueError, match="surrogate"):
        orjson.loads(line)
    assert records.decode(line, 1, ORIGIN).event == event


@pytest.mark.parametrize("depth", [100, 250, 255, 1000])
def test_a_frame_of_any_depth_that_the_decoder_takes_can_be_journalled(depth: int) -> None:
    text = b'{"a":' * depth + b"1" + b"}" * depth
    event = LineReceived(agent="a", at=1.0, mono=1.0, end=9, frame=orjson.loads(text))
    line, _ = records.encode(1, event, ORIGIN)
    read = records.decode(line, 1, ORIGIN).event
    assert isinstance(read, LineReceived)
    assert records.spell(read) == records.spell(event)


def test_integers_keep_every_digit() -> None:
    event = LineReceived(agent="a", at=1.0, mono=1.0, end=1, frame={"big": 2**64, "huge": -(10**100), "half": "\ud800"})
    line, _ = records.encode(1, event, ORIGIN)
    assert records.decode(line).event == event


@given(st.data())
def test_any_flipped_bit_is_found(data: st.DataObject) -> None:
    event = AgentExited(agent="a1", at=1.0, mono=2.0, code=1, signal=None, stderr_tail="é", rusage={"cpu": 1.5})
    line = bytearray(records.encode(3, event, ORIGIN)[0][:-1])
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(RecordError):
        records.decode(bytes(line), 3, ORIGIN)


@given(st.lists(st.text(max_size=5), min_size=2, max_size=8), st.data())
def test_a_removed_doubled_or_moved_line_breaks_the_chain(names: list[str], data: st.DataObject) -> None:
    lines = chain(*(timer(name) for name in names))
    place = data.draw(st.integers(0, len(lines) - 2))
    change = data.draw(st.sampled_from(["remove", "double", "swap"]))
    if change == "remove":
        del lines[place]
    elif change == "double":
        lines.insert(place, lines[place])
    else:
        lines[place], lines[place + 1] = lines[place + 1], lines[place]
    with pytest.raises(RecordError, match="sequence number"):
        read_chain(lines)


def test_a_line_put_in_place_of_another_breaks_the_chain_behind_it() -> None:
    lines = chain(timer("a"), timer("b"), timer("c"))
    lines[1] = records.encode(2, timer("x"), records.line_hash(lines[0]))[0]
    with pytest.raises(RecordError, match="chain") as caught:
        read_chain(lines)
    assert caught.value.found != caught.value.expected


def sealed(body: bytes) -> bytes:
    unsealed = b'{"n":1,' + body + b',"p":"' + ORIGIN.encode() + b'"'
    return unsealed + b',"c":"%08x"}' % zlib.crc32(unsealed)


def test_an_event_of_a_newer_version_is_kept_whole_and_written_back_the_same() -> None:
    line = sealed(b'"agent":"a1","at":1.5,"mono":2.5,"wings":{"n":2,"big":%d},"kind":"agent_flew"' % 10**30)
    event = records.decode(line, 1, ORIGIN).event
    assert event == UnknownEvent(
        agent="a1", at=1.5, mono=2.5, kind="agent_flew", fields={"wings": {"n": 2, "big": 10**30}}
    )
    assert records.encode(1, event, ORIGIN)[0] == line + b"\n"


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'"agent":"a","at":1,"mono":1,"before":"running","after":"flying","why":"","kind":"state_changed"', "after"),
        (b'"agent":"a","at":1,"mono":1,"kind":"timer_fired"', "name"),
        (b'"agent":"a","at":1,"mono":1', "kind"),
        (b'"at":1,"mono":1,"kind":"agent_flew"', "agent"),
        (b'"agent":"a",,', "JSON"),
    ],
)
def test_a_known_kind_that_does_not_fit_is_an_error_that_names_the_field(body: bytes, names: str) -> None:
    with pytest.raises(RecordError, match=names):
        records.decode(sealed(body), 1, ORIGIN)


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"\x00" * 200, b'{"n":1}', b"not json at all, but rather long" * 4]
)
def test_what_is_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(RecordError):
        records.decode(line)


def test_the_error_says_what_was_expected_and_found() -> None:
    line, _ = records.encode(5, timer(), ORIGIN)
    with pytest.raises(RecordError, match="expected 4, found 5") as caught:
        records.decode(line, 4)
    assert (caught.value.problem, caught.value.expected, caught.value.found) == ("sequence number", "4", "5")


def test_a_header_carries_the_chain_and_is_no_record() -> None:
    header, header_hash = records.encode_header(18, "ab" * 16)
    assert records.check_header(header, 18, "ab" * 16) == (18, "ab" * 16)
    assert json.loads(header)["format"] == records.FORMAT
    assert header_hash == records.line_hash(header)
    with pytest.raises(RecordError, match="beginning"):
        records.check(header[:-1])
    with pytest.raises(RecordError, match="header"):
        records.check_header(records.encode(18, timer(), ORIGIN)[0])


def test_a_header_of_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(records, "FORMAT", 2)
        header, _ = records.encode_header(1, ORIGIN)
    with pytest.raises(RecordError, match="format"):
        records.check_header(header)


def test_a_step_of_the_state_table_reads_as_words() -> None:
    step = StateChanged(agent="a", at=1.0, mono=1.0, before=AgentState.RUNNING, after=AgentState.DONE, why="it ended")
    line, _ = records.encode(1, step, ORIGIN)
    assert b'"before":"running","after":"done"' in line
    assert records.decode(line).event == step
    assert dataclasses.is_dataclass(records.decode(line).event)


def test_no_event_has_a_field_that_the_line_needs_for_itself() -> None:
    for kind in get_args(AnyEvent):
        assert not {"n", "m", "p", "c", "first", "format"} & {field.name for field in dataclasses.fields(kind)}


def without_added(now: Any, recorded: Any) -> Any:
    """What is written now, without the fields that the recorded line has not."""
    if isinstance(now, dict) and isinstance(recorded, dict):
        return {name: without_added(value, recorded[name]) for name, value in now.items() if name in recorded}
    if isinstance(now, list) and isinstance(recorded, list) and len(now) == len(recorded):
        return [without_added(*pair) for pair in zip(now, recorded, strict=True)]
    return now


def test_a_recorded_journal_with_every_kind_of_event_is_read_and_written_with_the_same_bytes() -> None:
    header, *lines = JOURNAL.read_bytes().splitlines(keepends=True)
    assert records.encode_header(1, ORIGIN)[0] == header
    kinds, previous = set(), records.line_hash(header)
    for n, line in enumerate(lines, 1):
        event = records.decode(line, n, previous).event
        recorded = {name: value for name, value in anyjson.loads(line).items() if name not in {"n", "p", "c"}}
        body = anyjson.dumps(without_added(anyjson.loads(records.spell(event)), recorded))
        assert records.frame(n, body, previous)[0] == line
        kinds.add(type(event))
        previous = records.line_hash(line)
    assert kinds >= set(get_args(AnyEvent)), "add it: python -m tests.recordings.record_journal"


def _chain(count: int) -> list[bytes]:
    lines, before = list[bytes](), records.ORIGIN
    for n in range(1, count + 1):
        line, before = records.encode(n, TimerFired(agent="a1", at=1.0, mono=1.0, name=f"t{n}"), before)
        lines.append(line[:-1])
    return lines


def test_lines_that_are_checked_together_pass_if_each_passes_alone() -> None:
    lines = _chain(5)
    assert records.check_all(lines, 1, records.ORIGIN) == records.line_hash(lines[-1])
    assert records.check_all([], 1, records.ORIGIN) == records.ORIGIN
    assert records.check_all(lines, 2, records.ORIGIN) is None
    assert records.check_all(lines, 1, "1" * 32) is None
    assert records.check_all(lines[:2] + lines[3:], 1, records.ORIGIN) is None


def test_a_flipped_bit_anywhere_is_seen_when_lines_are_checked_together() -> None:
    lines = _chain(3)
    for number, line in enumerate(lines):
        for position in range(len(line)):
            flipped = line[:position] + bytes([line[position] ^ 1]) + line[position + 1 :]
            damaged = [*lines[:number], flipped, *lines[number + 1 :]]
            assert records.check_all(damaged, 1, records.ORIGIN) is None, (number, position)


@pytest.mark.parametrize("agent", ["", "a1", 'a"1', "a\\", "a\udcff", "é", "x" * 300, ',"agent":"b"'])
def test_the_agent_of_a_line_is_the_one_that_its_beginning_tells(agent: str) -> None:
    line, _ = records.encode(10**19, TimerFired(agent=agent, at=1.0, mono=1.0, name="t"), records.ORIGIN)
    assert records.agent_of(line) == records.whose_and_when(line)[0]
    assert records.agent_of(b'{"n":1,"kind":"timer_fired","agent":"a1","at":1.0}\n') == "a1"


def test_the_kind_of_a_line_is_known_from_its_end_whatever_is_in_it() -> None:
    tricky = {
        "type": "x",
        "kind": "state_changed",
        "text": ',"kind":"timer_fired","p":"' + "0" * 32 + '","c":"00000000"}',
    }
    for event in (
        LineReceived(agent="a1", at=1.0, mono=1.0, end=1, frame=tricky),
        TimerFired(agent="a1", at=1.0, mono=1.0, name=',"kind":"line_received"'),
        UnknownEvent(agent="a1", at=1.0, mono=1.0, kind="of_tomorrow", fields={"x": tricky}),
    ):
        for key in (b"", b"k" * 32):
            line, _ = records.frame(1, records.spell(event), "0" * 32, key)
            assert records.kind_of(line) == records.kind_of(line.removesuffix(b"\n")) == event.kind
    assert records.kind_of(b'{"n":1,"kind":"timer_fired","agent":"a1"}\n') == ""


def test_a_review_is_counted_by_its_line_as_by_its_event() -> None:
    review = Review(Decision.BLOCK, 0.8, 0.5, Severity.HIGH, "no", rule="files.delete-outside", micros=17)
    action = Action("Bash", {"command": "rm -rf ~"}, "/w", "/w")
    made = ReviewMade(agent="a1", at=1.0, mono=1.0, request_id="r1", action=action, review=review)
    line, _ = records.encode(1, made, "0" * 32)
    assert records.review_of(line) == (review.decision, review.rule, review.micros)
