"""A sealed line says whose it is and when; what it says is read with the key alone, and cannot be changed or moved."""

from pathlib import Path

import pytest

from supervisor.protocol import records
from supervisor.protocol.events import TimerFired
from supervisor.runtime.protection.seals import RecordSeals, SealedRecordError

OLD, NEW = b"o" * 32, b"n" * 32
SEALS = RecordSeals([OLD], seals=True)
RECORDED = Path(__file__).parents[3] / "recordings/journal"


def line_of(body: bytes, n: int = 7) -> bytes:
    return records.frame(n, body, records.ORIGIN, b"signed")[0].removesuffix(b"\n")


def event(text: str = "a wish: 49 cafés") -> bytes:
    return records.spell(TimerFired(agent="a1", at=1763712900.5, mono=81.25, name=text))


def test_a_line_is_sealed_with_its_agent_times_and_kind_in_the_clear() -> None:
    line = line_of(SEALS.event(event()))
    assert b"wish" not in line
    assert records.check(line) == 7
    assert records.is_signed(line, b"signed")
    assert records.whose_and_when(line) == ("a1", 1763712900.5)
    assert records.kind_of(line) == "timer_fired"
    opened = SEALS.opened(line)
    assert records.decode(opened).event == records.decode(line_of(event())).event
    assert SEALS.opened(opened) == opened


def test_every_kind_of_event_is_sealed_and_opened_to_the_same_bytes() -> None:
    kinds = set()
    for path in sorted(RECORDED.glob("*.jsonl")):
        for line in path.read_bytes().splitlines()[1:]:
            body = records.spell(records.read_event(line))
            sealed = SEALS.event(body)
            kinds.add(records.kind_of_body(sealed))
            assert sealed != body or body.count(b",") == 3, body
            unsealed = records.frame(7, body, records.ORIGIN)[0]
            assert SEALS.opened(records.frame(7, sealed, records.ORIGIN)[0]) == unsealed
    assert len(kinds) > 60


def test_equal_events_are_sealed_to_different_bytes() -> None:
    assert SEALS.event(event()) != SEALS.event(event())


@pytest.mark.parametrize("change", ["agent", "time", "kind", "text", "key"])
def test_what_was_changed_or_moved_is_not_opened(change: str) -> None:
    body = SEALS.event(event())
    sealed = body.partition(b'"sealed":"1.')[2]
    match change:
        case "agent":
            body = body.replace(b'"a1"', b'"a2"')
        case "time":
            body = body.replace(b"900.5", b"901.5")
        case "kind":
            body = body.replace(b"timer_fired", b"timer_armed")
        case "text":
            at = len(body) - len(sealed) + 20
            body = body[:at] + (b"A" if body[at : at + 1] != b"A" else b"B") + body[at + 1 :]
        case _:
            body = body.replace(b'"sealed":"1.', b'"sealed":"2.')
    with pytest.raises(SealedRecordError) as error:
        RecordSeals([OLD, NEW]).opened(line_of(body))
    assert error.value.way_out


def test_without_the_key_it_is_said_which_is_lacking() -> None:
    with pytest.raises(SealedRecordError, match="data key 1, and 0 are known"):
        RecordSeals().opened(line_of(SEALS.event(event())))


def test_a_new_data_key_seals_and_the_old_one_still_opens() -> None:
    grown = RecordSeals([OLD, NEW], seals=True)
    before, after = SEALS.event(event("before")), grown.event(event("after"))
    assert b"before" in grown.opened(line_of(before))
    assert b"after" in grown.opened(line_of(after))
    assert b'"sealed":"2.' in after
    with pytest.raises(SealedRecordError):
        SEALS.opened(line_of(after))


def test_a_text_that_looks_like_a_seal_is_left_as_it_is() -> None:
    forged = event('","sealed":"1.AAAA","kind":"timer_fired')
    assert SEALS.opened(line_of(forged)) == line_of(forged)


def test_what_only_a_start_reads_is_sealed_as_a_whole() -> None:
    stored = SEALS.stored(b'{"ended":[1,2]}')
    assert b"ended" not in stored
    assert SEALS.read(stored) == b'{"ended":[1,2]}'
    assert RecordSeals([OLD]).stored(b"{}") == b"{}"
    assert RecordSeals().read(b'{"a":1}') == b'{"a":1}'
