import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from supervisor.protocol import events
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from tests.stages.daemon import Base, ended, served, until
from tests.supervisor.cli.conftest import chaperon
from tests.support import acting

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

BAD = "bad\udcff \x1b[2J\u202e\x9b"
"""Text with all that a reader or a terminal may stumble over."""


async def note(base: Base, daemon: Daemon, agent: str, kind: str, summary: str, *, way_out: str = "") -> None:
    """Note an incident, and wait until the log has it."""
    before = len(base.incidents())
    daemon.fault(agent, kind, summary, way_out=way_out)
    await until(lambda: len(base.incidents()) > before)


async def printed(*command: str) -> list[int]:
    """The numbers of the events that a command prints as JSON."""
    return [json.loads(line)["n"] for line in (await chaperon(*command, "--json")).output.splitlines()]


async def test_the_journal_is_printed_for_people_and_as_it_is(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        told = (await chaperon("tail", "--agent", "a1")).output
        assert "allow    Bash ls" in told
        assert "a1" in told
        all_ = list(range(1, daemon.journal.last + 1))
        assert await printed("tail") == all_
        assert await printed("tail", "--after", "4") == all_[4:]


async def test_the_last_lines_are_as_many_as_are_wanted(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        assert await printed("tail", "-n", "3") == list(range(daemon.journal.last - 2, daemon.journal.last + 1))
        whole = (await chaperon("tail")).output.splitlines()
        assert (await chaperon("tail", "-n", "3")).output.splitlines() == whole[-3:]
        assert (await chaperon("tail", "-n", "0")).output == ""
        assert (await chaperon("tail", "-n", "3", "--agent", "a1")).output.splitlines() == whole[-3:]


async def test_a_moment_to_begin_with_leaves_out_what_was_before(base: Base) -> None:
    async with served(base) as (daemon, _):
        await note(base, daemon, "", "old", "It was long ago.")
        old = daemon.journal.append(
            events.TimerFired(agent="", at=Clock().wall() - 7_200, mono=1.0, name="two hours ago")
        )
        await note(base, daemon, "", "new", "It is now.")
        assert old not in await printed("tail", "--since", "1h")
        assert old in await printed("tail", "--since", "3h")
        assert "new" in (await chaperon("incidents", "--since", "1h")).output
        assert "lies ahead" in (await chaperon("incidents", "--since", "2999-01-01")).output
        assert "old" not in (await chaperon("incidents", "-n", "1")).output


@pytest.mark.parametrize("command", ["tail", "checkpoints"])
async def test_an_agent_that_nobody_has_is_told_and_fails(base: Base, command: str) -> None:
    async with served(base):
        done = await chaperon(command, "--agent", "nosuch")
        assert done.exit_code == 1
        assert "There is no agent 'nosuch'" in done.output


async def test_a_log_without_incidents_says_so_to_people_alone(base: Base) -> None:
    async with served(base) as (daemon, _):
        assert (await chaperon("incidents")).output == "There is no incident.\n"
        assert (await chaperon("incidents", "--json")).output == ""
        await note(base, daemon, "", "old", "It was long ago.")
        assert (await chaperon("incidents", "-n", "0")).output == ""
        assert "There is no incident" not in (await chaperon("incidents")).output


async def test_incidents_are_printed_with_their_way_out(base: Base) -> None:
    base.cli("begin()\nsys.stderr.write('bad \\x1b[2J luck')\nraise SystemExit(3)")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        await until(lambda: base.incidents() != [])
        told = (await chaperon("incidents")).output
        assert "agent_failed" in told
        assert "--resume-session" in told
        assert "\x1b[2J" not in told
        assert json.loads((await chaperon("incidents", "--json")).output)["type"] == "agent_failed"


async def test_one_incident_is_told_by_its_id_and_an_unknown_one_fails(base: Base) -> None:
    async with served(base) as (daemon, _):
        await note(base, daemon, "", "old", "It was long ago.")
        await note(base, daemon, "", "new", "It is now.")
        ids = [json.loads(line)["id"] for line in (await chaperon("incidents", "--json")).output.splitlines()]
        told = (await chaperon("incidents", ids[0])).output
        assert "It was long ago." in told
        assert "It is now." not in told
        assert "chaperon tail --after" in told
        assert json.loads((await chaperon("incidents", ids[1], "--json")).output)["summary"] == "It is now."
        unknown = await chaperon("incidents", "i-nobody")
        assert (unknown.exit_code, "'i-nobody'" in unknown.output) == (1, True)
        assert (await chaperon("incidents", ids[0], "-n", "1")).exit_code == 2


async def test_one_bad_name_of_a_file_hides_nothing_that_comes_behind_it(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        daemon.runners.note(events.ChangesSeen(**daemon.stamp("a1"), tool_use_id="t", paths=(BAD,)))
        await note(base, daemon, "a1", "odd", f"Seen: {BAD}", way_out=BAD)
        await note(base, daemon, "a1", "behind", "It came later.")
        for command in (["tail"], ["tail", "--agent", "a1"], ["incidents"], ["show", "a1"], ["ps"]):
            for more in ([], ["--json"], *([["--export"]] if command[0] in ("tail", "incidents") else [])):
                done = await chaperon(*command, *more)
                assert done.exit_code == 0, ascii(done.output)
                assert acting(done.output) <= {"\n"}, (command, more)
                assert command[0] not in ("tail", "incidents") or "It came later." in done.output


def in_a_pipe(base: Base, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command whose reader takes a line and leaves."""
    places = {"RUNTIME_DIRECTORY": str(base.places.runtime), "STATE_DIRECTORY": str(base.places.state)}
    line = f"set -o pipefail; {sys.executable} -m supervisor.cli {' '.join(command)} | head -n 1"
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(base.home), "PYTHONPATH": str(ROOT), **places}
    return subprocess.run(["bash", "-c", line], env=environ, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize(
    "command", [["tail"], ["tail", "-f"], ["tail", "--json"], ["tail", "--export"], ["incidents", "-f"]]
)
async def test_a_reader_that_has_enough_ends_a_command_without_a_word(
    base: Base, command: Sequence[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with served(base) as (daemon, _):
        await note(base, daemon, "", "odd", "So.")
        fill(daemon)
        done = await anyio.to_thread.run_sync(partial(in_a_pipe, base, command))
        told = [line for line in done.stderr.splitlines() if not line.startswith("exporting: ")]  # on a busy machine
        assert (done.returncode, told) == (0, [])
        assert len(done.stdout.splitlines()) == 1
        await note(base, daemon, "", "odd", "So.")
        again = await anyio.to_thread.run_sync(partial(in_a_pipe, base, ["tail"]))
        assert again.returncode == 0, "what came after it left was written to others"
    assert [
        record.message for record in caplog.records if record.name == "asyncio" and record.levelno > logging.INFO
    ] == []


def fill(daemon: Daemon) -> None:
    """More records than any buffer between the journal and a reader holds."""
    for _ in range(300):
        frame = {"type": "assistant", "message": {"content": [{"type": "text", "text": "x" * 10_000}]}}
        daemon.journal.append(events.LineReceived(**daemon.stamp("a1"), end=1, frame=frame))


async def test_an_export_says_how_far_it_is_apart_from_what_it_exports(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervisor.cli.output.progress.QUIET_SECONDS", (0.0, 3_600.0))
    async with served(base) as (daemon, _):
        await note(base, daemon, "", "odd", "So.")
        fill(daemon)
        last = daemon.journal.last
        done = await chaperon("tail", "--export")
        (told, *more) = done.stderr.splitlines()
        assert (told.partition(",")[0], more) == (f"exporting: 1 of {last:,} events", [])
        assert "exporting" not in done.stdout
        assert (await chaperon("tail", "--json")).stderr == ""


async def test_an_export_of_incidents_says_how_far_it_is_apart_from_what_it_exports(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervisor.cli.output.progress.QUIET_SECONDS", (0.0, 3_600.0))
    async with served(base) as (daemon, _):
        for name in ("one", "two"):
            await note(base, daemon, "", name, "So.")
        done = await chaperon("incidents", "--export")
        read, exported = done.stderr.splitlines()
        assert read.startswith("reading: 1 incident, for ")
        assert exported == "exporting: 1 of 2 incidents, 50 %"
        assert "exporting" not in done.stdout
        assert len(done.stdout.splitlines()) == 2
        assert (await chaperon("incidents", "--json")).stderr == ""
