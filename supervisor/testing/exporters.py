"""The rules for any exporter of the audit record, ours or a plugin's.

It has a name that a position can be kept by, the same each time; it takes batches of every size, records of every size
and text, and the same batch twice, which a crash can bring about; it changes no record, and returns nothing.
"""

import copy
import re
from collections.abc import Callable, Sequence

from monitors.contract import anyjson
from monitors.contract.words import Severity
from supervisor.protocol.export import Exporter, ExportRecord

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

ODD_TEXTS = ("", "plain", "zw\u00f6lf \U0001f40d", 'quotes " and \\ slashes', "x" * 300_000, "\u2028\u202e\x7f")
"""Texts of agents, as records may hold them."""


def check_exporter(make: Callable[[], Exporter]) -> None:
    """Check exporters that `make` gives, by sending records to where they lead.

    Args:
        make: Gives a fresh exporter to a destination that takes everything, such as a server of the test.

    Raises:
        AssertionError: It does not keep to the contract.
    """
    made: list[Exporter] = []

    def again() -> Exporter:
        made.append(make())
        return made[-1]

    try:
        _check(again)
    finally:
        for each in made:
            getattr(each, "close", lambda: None)()


def _check(make: Callable[[], Exporter]) -> None:
    exporter = make()
    assert NAME.fullmatch(exporter.name), f"{exporter.name!r}: lower case letters, digits, hyphens and underscores"
    assert make().name == exporter.name, "its position is kept by its name, which must stay"
    assert getattr(exporter, "wants", "journal") in ("journal", "incidents")
    assert getattr(exporter, "begins", "now") in ("now", "start")
    assert float(getattr(exporter, "timeout_seconds", 1)) > 0
    for batch in ([], some_records(1), some_records(500), odd_records()):
        _check_sent(exporter, batch)
        _check_sent(exporter, batch)  # a crash between a delivery and its note brings it again
    _check_sent(make(), some_records(3))


def _check_sent(exporter: Exporter, batch: Sequence[ExportRecord]) -> None:
    before = copy.deepcopy(list(batch))
    answer = exporter.send(batch)  # type: ignore[func-returns-value]  # that is what is checked
    assert answer is None, "`send` says by returning that it has the batch, and returns nothing"
    assert list(batch) == before, "it changed the records"


def some_records(count: int, begin: int = 1) -> list[ExportRecord]:
    """Return so many ordinary records, numbered from `begin`."""
    return [_record(n, {"agent": "a1", "text": f"record {n}"}) for n in range(begin, begin + count)]


def odd_records() -> list[ExportRecord]:
    """Return records with text of every kind, incidents of every severity, and odd times."""
    plain = [_record(n, {"agent": "", "text": text}) for n, text in enumerate(ODD_TEXTS, 1)]
    told = [
        _record(n, {"agent": "a1", "summary": "It went wrong."}, kind="incident_opened", severity=severity)
        for n, severity in enumerate(Severity, 100)
    ]
    odd_times = [_record(n, {"agent": "a1"}, at=at) for n, at in enumerate((0.0, -1.0, 1e12), 200)]
    return [*plain, *told, *odd_times]


def _record(
    n: int, facts: dict[str, object], *, kind: str = "review_made", severity: Severity | None = None, at: float = 1.7e9
) -> ExportRecord:
    data = {"n": n, "at": at, "mono": 1.0, **facts, "kind": kind}
    return ExportRecord(n, at, str(facts.get("agent", "")), kind, anyjson.dumps(data), data, severity)
