"""What other programs are given of the journal and of the incident log."""

import csv
import json

import pytest

from supervisor.protocol.words import AgentState
from tests.stages.daemon import Base, ended, served
from tests.supervisor.cli.conftest import chaperon

pytestmark = pytest.mark.slow


@pytest.fixture
def base(base: Base, monkeypatch: pytest.MonkeyPatch) -> Base:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(base.root / "config"))
    return base


async def test_by_default_records_are_exported_as_the_journal_and_the_log_have_them(base: Base) -> None:
    base.plan("rm -rf /home/somebody")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        assert (await ended(daemon)).state is AgentState.DONE
        daemon.fault("", "torn_journal", "It was torn.")
        for command in ("tail", "incidents"):
            exported = (await chaperon(command, "--export")).output
            assert (await chaperon(command, "--json")).output.startswith(exported), "more may have come since"
            assert json.loads(exported.splitlines()[0])


async def test_as_csv_each_record_is_a_row_and_nothing_of_it_is_lost(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAPERON_AUDIT__EXPORT_FORMAT", "csv")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt='say "a,b"\nand c'), by="test")
        await ended(daemon)
        daemon.fault("", "torn_journal", 'It was "torn", twice.')
        events = list(csv.DictReader((await chaperon("tail", "--export")).output.splitlines(keepends=True)))
        written = [json.loads(line) for line in (await chaperon("tail", "--json")).output.splitlines()]
        incidents = list(csv.DictReader((await chaperon("incidents", "--export")).output.splitlines(keepends=True)))
    assert [int(row["n"]) for row in events] == [record["n"] for record in written][: len(events)]
    submitted = next(row for row in events if row["kind"] == "task_submitted")
    assert json.loads(submitted["facts"])["task"]["prompt"] == 'say "a,b"\nand c'
    assert submitted["time"].endswith("Z")
    assert [(row["type"], row["summary"]) for row in incidents] == [("torn_journal", 'It was "torn", twice.')]
