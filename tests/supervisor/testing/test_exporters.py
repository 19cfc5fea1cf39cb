"""The checks of exporters see what is wrong."""

from collections.abc import Sequence
from typing import Any

import pytest

from monitors.contract import anyjson
from supervisor.protocol.export import ExportRecord
from supervisor.testing import check_exporter
from supervisor.testing.exporters import odd_records, some_records


class Keeps:
    """An exporter as it should be: it keeps all in a list."""

    name = "kept"

    def __init__(self) -> None:
        self.sent: list[ExportRecord] = []

    def send(self, records: Sequence[ExportRecord]) -> None:
        self.sent += records


class NoName(Keeps):
    name = "My Exporter!"


class NewName(Keeps):
    number = 0

    def __init__(self) -> None:
        super().__init__()
        NewName.number += 1
        self.name = f"kept-{NewName.number}"


class Answers(Keeps):
    def send(self, records: Sequence[ExportRecord]) -> Any:
        return len(records)


class Changes(Keeps):
    def send(self, records: Sequence[ExportRecord]) -> None:
        for record in records:
            record.data.pop("text", None)  # type: ignore[attr-defined]  # a careless one


class Ascii(Keeps):
    def send(self, records: Sequence[ExportRecord]) -> None:
        for record in records:
            str(record.data.get("text", "")).encode("ascii")


class Once(Keeps):
    def send(self, records: Sequence[ExportRecord]) -> None:
        assert not {record.n for record in records} & {record.n for record in self.sent}, "this was sent before"
        super().send(records)


class WantsMore(Keeps):
    wants = "everything"


def test_one_that_keeps_to_the_contract_passes() -> None:
    check_exporter(Keeps)


@pytest.mark.parametrize("kind", [NoName, NewName, Answers, Changes, Ascii, Once, WantsMore])
def test_each_way_of_not_keeping_to_it_is_seen(kind: type[Keeps]) -> None:
    with pytest.raises((AssertionError, UnicodeEncodeError)):
        check_exporter(kind)


def test_samples_are_what_a_daemon_sends() -> None:
    for record in (*some_records(3), *odd_records()):
        assert anyjson.decode(record.line) == dict(record.data)
        assert b"\n" not in record.line
