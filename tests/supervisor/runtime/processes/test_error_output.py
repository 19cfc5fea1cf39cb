"""Error output in pieces of any size: whole lines, bounded in length and number."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitors.contract.error_lines import read_error_line
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say
from supervisor.runtime.processes.error_output import (
    BURST_LINES,
    LINES_A_SECOND,
    MOST_CHARACTERS,
    MOST_LINE_BYTES,
    ErrorOutput,
    TakenLine,
)
from supervisor.runtime.service import run_daemon
from tests.stages.daemon import Base, ended, reached, served, until
from tests.stages.live import live, make_repository

PRINTS = """
begin()
while not os.path.exists("go"):
    if os.path.exists("print"):
        os.rename("print", "printed")
        print("TypeError: while it runs", file=sys.stderr, flush=True)
    time.sleep(0.01)
print("Error: before the end, without a newline", end="", file=sys.stderr, flush=True)
done()
hear()
"""


@given(st.lists(st.sampled_from(["one", "", "zw\u00f6lf", "a b"]), max_size=8), st.data())
def test_lines_come_whole_however_the_bytes_are_cut(texts: list[str], data: st.DataObject) -> None:
    stream = b"".join(f"{text}\n".encode() for text in texts)
    output = ErrorOutput()
    taken: list[TakenLine] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        taken += output.feed(stream[:size], 0.0)
        stream = stream[size:]
    assert [line.text for line in taken] == [text for text in texts if text]
    assert output.received == sum(len(text.encode()) + 1 for text in texts)


def test_of_a_flood_the_first_lines_are_taken_then_some_each_minute_and_the_others_are_counted() -> None:
    output = ErrorOutput()
    flood = b"".join(b"line %d\n" % number for number in range(1_000))
    assert [line.text for line in output.feed(flood, 0.0)] == [f"line {number}" for number in range(BURST_LINES)]
    later = list(output.feed(flood, 60.0))
    assert len(later) == 60 * LINES_A_SECOND
    assert [line.passed_over for line in later] == [1_000 - BURST_LINES, *[0] * (len(later) - 1)]


def test_a_clock_that_jumps_back_gives_no_room_and_takes_none() -> None:
    output = ErrorOutput()
    assert len(list(output.feed(b"x\n" * (BURST_LINES - 1), 100.0))) == BURST_LINES - 1
    assert len(list(output.feed(b"x\nx\n", 100.0))) == 1


@pytest.mark.parametrize("length", [MOST_CHARACTERS, MOST_CHARACTERS + 1, MOST_LINE_BYTES + 1, 5_000_000])
def test_a_long_line_is_cut_and_where_it_ends_is_known(length: int) -> None:
    output = ErrorOutput(7)
    (line,) = output.feed(b"x" * length + b"\n", 0.0)
    assert line.end == 7 + length + 1
    assert len(line.text) <= MOST_CHARACTERS
    assert line.text.endswith("\u2026") == (length > MOST_CHARACTERS)


def test_bytes_that_are_no_text_and_a_last_line_without_its_end_are_taken() -> None:
    output = ErrorOutput()
    assert [line.text for line in output.feed(b"bad \xff\ncut", 0.0)] == ["bad \ufffd"]
    assert [line.text for line in output.finish()] == ["cut"]
    assert list(output.finish()) == []


async def test_what_the_cli_prints_is_in_the_journal_while_it_runs_and_once_over_restarts(base: Base) -> None:
    base.cli(PRINTS)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        (base.repo / "print").touch()
        await until(lambda: "error_line_received" in base.kinds())
        assert daemon.board.summary("a1").state is AgentState.RUNNING
    async with served(base) as (daemon, _):
        (base.repo / "go").touch()
        await ended(daemon)
    assert [event.text for event in base.events(events.ErrorLineReceived)] == [
        "TypeError: while it runs",
        "Error: before the end, without a newline",
    ]


async def test_what_was_printed_while_no_daemon_was_there_is_read_at_the_next_start(base: Base) -> None:
    base.cli(PRINTS)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
    (base.repo / "print").touch()
    await until((base.repo / "printed").exists)
    (base.repo / "go").touch()
    async with served(base) as (daemon, _):
        await ended(daemon)
    assert "TypeError: while it runs" in [event.text for event in base.events(events.ErrorLineReceived)]


async def test_the_same_error_of_the_cli_again_and_again_is_an_issue(base: Base) -> None:
    base.cli(
        """
begin()
for number in range(9):
    print(f"Error: the link to server {number} was lost", file=sys.stderr, flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
done()
hear()
"""
    )
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: "issue_seen" in base.kinds())
        (base.repo / "go").touch()
        await ended(daemon)
    issue = base.events(events.IssueSeen)[0].issue
    assert issue.type == "repetitive_errors"
    assert "the CLI itself" in issue.sentence


@pytest.mark.real_cli
async def test_what_the_real_cli_says_of_a_model_that_it_does_not_know_is_told_while_it_runs(tmp_path: Path) -> None:
    make_repository(tmp_path / "repo", {"README": "read me\n"})
    (tmp_path / "home").mkdir(exist_ok=True)
    async with live(tmp_path, [Say("done")]) as stage:
        await stage.submit("the task", model="nope-9", keep_open=True)
        line = await stage.event(events.ErrorLineReceived)
        assert read_error_line(line.text).topic == "unrecognized_model"
        assert "nope-9" in line.text
        assert not stage.daemon.board.summary("a1").state.ended
