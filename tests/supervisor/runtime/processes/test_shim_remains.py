"""What a shim left behind."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from supervisor.runtime.processes.shim_events import CliOutput
from supervisor.runtime.processes.shim_remains import read_errors, read_exit_record, read_rest

Yard = Any  # the fixture's class lives in conftest.py, which is not importable by name

LINES = 50_000


async def test_an_agent_that_ended_alone_left_all_it_said(yard: Yard) -> None:
    shim = await yard.python(f"for n in range({LINES}): print(f'{{n:07}}')\ninput()")
    first = await yard.next_of(shim, CliOutput)
    shim.close_input()
    shim.send_line("late", b"not taken\n")
    shim.close()
    yard.eventually(lambda: read_exit_record(shim.directory) is not None)
    record = read_exit_record(shim.directory)
    assert record is not None
    assert record.lines_taken == 0
    assert first.data + b"".join(read_rest(shim.directory, len(first.data))) == b"".join(
        b"%07d\n" % n for n in range(LINES)
    )


async def test_nothing_is_left_to_read_where_nothing_ran(tmp_path: Path) -> None:
    assert list(read_rest(tmp_path, 0)) == []
    assert read_exit_record(tmp_path) is None
    assert read_errors(tmp_path, 0) == b""


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "exit.json").write_text(json.dumps({"agent": "a1", "signal": 9, "stderr_tail": "out of paper"}))
    found = read_exit_record(tmp_path)
    assert found is not None
    assert (found.signal, found.stderr_tail) == (9, "out of paper")


@pytest.mark.timeout(20)
def test_pipes_that_a_program_put_there_hold_nobody_up_and_say_nothing(tmp_path: Path) -> None:
    for name in ("exit.json", "out.log", "err.log"):
        os.mkfifo(tmp_path / name)
    assert read_exit_record(tmp_path) is None
    assert list(read_rest(tmp_path, 0)) == []
    assert read_errors(tmp_path, 0) == b""


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "7", '{"agent": 7}', "x" * 3_000_000])
def test_a_record_that_is_none_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "exit.json").write_text(text)
    assert read_exit_record(tmp_path) is None
