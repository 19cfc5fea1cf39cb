"""`chaperon top` in a terminal of 80 by 24, driven by its keys under tmux."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio.to_thread
import pytest
from textual.widgets import Static

from interventions.decisions import PersonNeed, PersonReason
from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from supervisor.cli.client import connect
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.top import reading
from supervisor.top.app import Top
from supervisor.top.reading import NEW
from tests.stages.daemon import Base, ended, reached, served, until

ROOT = Path(__file__).parents[3]

PAGE = ROOT / "docs" / "how-to" / "panel.md"

HOSTILE = "[red]bold[/red] \x1b[31mred \u202e"


class Terminal:
    """A tmux server of its own."""

    def __init__(self, base: Base, **environ: str) -> None:
        self._socket = str(base.root / "tmux")
        self._environ = {
            "PATH": os.environ["PATH"], "HOME": str(base.home), "TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC",
            "RUNTIME_DIRECTORY": str(base.places.runtime), "PYTHONPATH": str(ROOT),
            **environ,
        }  # fmt: skip

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments]
        return subprocess.run(command, env=self._environ, check=True, capture_output=True, text=True).stdout

    def start(self, *command: str) -> None:
        self.tmux("new-session", "-d", "-x", "80", "-y", "24", *command)
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    async def keys(self, *keys: str) -> None:
        await anyio.to_thread.run_sync(self.tmux, "send-keys", *keys)

    async def shows(self, *texts: str, without: str = "\0") -> str:
        """Wait until the screen has the texts, and keys are taken for what is on it."""
        screen = ""

        async def look() -> bool:
            nonlocal screen
            screen = await anyio.to_thread.run_sync(self.tmux, "capture-pane", "-p")
            return all(text in screen for text in texts) and without not in screen and NEW not in screen

        try:
            with anyio.fail_after(60):
                while not await look():
                    await anyio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"the screen never had {texts}:\n{screen}") from None
        assert max(map(len, screen.splitlines())) <= 80
        return screen


@contextmanager
def terminal(base: Base, *command: str, **environ: str) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("no tmux is installed here (apt-get install tmux)")
    made = Terminal(base, **environ)
    made.start(*command)
    try:
        yield made
    finally:
        made.tmux("kill-server")


GREYS = range(232, 256)
"""In a palette of 256 (xterm)."""


def hues(drawn: str) -> list[str]:
    """The sequences that set a colour other than black, white and grey (ECMA-48, xterm)."""
    found = []
    for given in re.findall(r"\x1b\[([0-9;]+)m", drawn):
        match given.split(";"):
            case ["38" | "48", "2", red, green, blue]:
                coloured = not red == green == blue
            case ["38" | "48", "5", number]:
                coloured = int(number) not in GREYS
            case codes:
                coloured = any(int(one) % 10 in range(1, 7) and int(one) // 10 in (3, 4, 9, 10) for one in codes)
        found += [given] if coloured else []
    return found


def as_the_manual_shows(part: str, screen: str) -> None:
    """Assert that each line of the manual's screen with this part stands on a screen, whatever the time, and what lies over it."""

    def plain(line: str) -> str:
        return re.sub(r"\d\d:\d\d:\d\d", "12:00:00", line.partition("▌")[0]).strip(" │▃▂")

    (block,) = [block for block in re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL) if part in block]
    shown = [plain(line) for line in screen.splitlines()]
    assert [line for line in block.splitlines() if plain(line) and plain(line) not in shown] == [], screen


TOP = (sys.executable, "-m", "supervisor.cli", "top")


def proposes(daemon: Daemon, checkpoint: str) -> None:
    """Have a rollback of the agent be due, which the configuration leaves to a person."""
    issue = Issue("repetitive_errors", Severity.HIGH, 0.9, 0.4, 3, "The same error 5 times in a row.")
    said = f"{issue.sentence} A rollback to {checkpoint} is proposed."
    need = PersonNeed(PersonReason.ROLLBACK_PROPOSED, issue, said, "so", hold=False, checkpoint=checkpoint)
    daemon.happened(events.IssueSeen(**daemon.stamp("a1"), issue=issue))
    daemon.happened(events.PersonNeeded(**daemon.stamp("a1"), need=need))


async def test_on_a_terminal_that_cannot_be_drawn_over_it_says_what_it_needs(base: Base) -> None:
    lives_on = 'TERM=dumb "$@"; read -r _'  # a pane whose program ended scrolls what it said
    with terminal(base, "sh", "-c", lives_on, "sh", *TOP) as shown:
        screen = await shown.shows("Set TERM to the terminal's kind")
        assert "TERM=dumb" in screen


async def test_a_rollback_that_is_proposed_is_made_or_declined_by_keys_once_its_plan_was_read(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    kept = base.repo / "kept.txt"
    kept.write_text("good\n")
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        (await client.post("/v1/agents/a1/checkpoints", json={"name": "good", "note": ""})).raise_for_status()
        kept.write_text("bad\n")
        with terminal(base, *TOP) as screen:
            proposes(daemon, "good")
            await screen.shows("ROLLBACK", "repetitive_errors: back to good?", "1 waits for you", "a: read the plan")
            await screen.keys("d")
            await screen.shows("Decline the rollback of a1.")
            await screen.keys("f", "Enter")
            await screen.shows("a1 stays as it is.", "running", without="ROLLBACK")
            assert daemon.board.summary("a1").said == {"repetitive_errors": "false_alarm"}
            proposes(daemon, "good")
            await screen.shows("ROLLBACK", "a: read the plan")
            await screen.keys("a")
            await screen.shows("Plan of going back, for a1", "Lost here", "kept.txt")
            await screen.keys("a")
            await screen.shows("Type good to go back to it")
            await screen.keys("good", "Enter")
            await screen.shows("To undo:", without="ROLLBACK")
            assert kept.read_text() == "good\n"
        await ended(daemon)  # the stand-in knows no session to go on with


async def test_approvals_are_answered_agents_steered_and_changes_read_by_keys(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo one > one", "echo two > two")
    async with served(base) as (daemon, _):
        with terminal(base, *TOP) as screen:
            await screen.shows("No agent runs")
            await daemon.submit(base.submission(prompt=f"Write it {HOSTILE}"), by="test")
            await screen.shows("a1", "ASKS", "asks   Bash echo one > one", "1 waits for you", "[red]bold[/red]")
            await screen.keys("a")
            await until(lambda: len(base.ran()) == 1)
            await screen.shows("ASKS", "asks   Bash echo two > two", without="echo one > one")
            await screen.keys("d")
            as_the_manual_shows("Deny.", await screen.shows("Deny.", "Enter: do it"))
            await screen.keys("Not this one", "Enter")
            await ended(daemon)
            await screen.shows("done", "1 ended", without="Deny.")
            await screen.keys("Enter")
            timeline = await screen.shows("Timeline of a1", "Not this one")
            assert "x1b" not in timeline, "colours are drawn, and not spelled"
            as_the_manual_shows("Timeline of", timeline)
            assert [word for word in ("Approve", "Pause", "Stop", "Diff") if word in timeline] == []
            await screen.keys("x", "s", "p", "?")
            await screen.shows("Timeline of a1", "Keys", "Back", without="Type a1")
            await screen.keys("Escape")
            await screen.shows("chaperon  0 live")
            await screen.keys("v")
            await screen.shows("Changes of a1", "ran.log")
            await screen.keys("q")
            await screen.shows("chaperon  0 live", "Approve", "Stop")
            await screen.keys("p")
            await screen.shows("ended")
    assert base.ran() == ["echo one > one"]


async def test_a_key_does_not_answer_an_action_that_took_the_place_of_another_just_now(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo one > one", "echo two > two")
    monkeypatch.setattr(reading, "SETTLING_SECONDS", 0.001)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: bool(daemon.board.summary("a1").waiting))
        app = Top(lambda: connect(base.places.socket))
        async with app.run_test(size=(80, 24)) as keys:
            await until(lambda: "echo one" in shown(app))
            await keys.press("a")
            monkeypatch.setattr(reading, "SETTLING_SECONDS", 1_000)
            await until(lambda: "echo two" in shown(app))
            await keys.press("a", "d")
            told = [one.message for one in app._notifications]
            assert told.count("This came just now: look at it, and press the key again.") == 2
            assert base.ran() == ["echo one > one"]
            monkeypatch.setattr(reading, "SETTLING_SECONDS", 0.001)
            await keys.press("a")
            await ended(daemon)
    assert base.ran() == ["echo one > one", "echo two > two"]


def shown(app: Top) -> str:
    """The lines about the chosen agent."""
    return str(app.screen_stack[0].query_one("#details", Static).render())


async def test_an_action_that_its_line_does_not_show_whole_is_read_before_it_is_let_run(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo one\n touch hidden")
    async with served(base) as (daemon, _):
        with terminal(base, *TOP) as screen:
            await daemon.submit(base.submission(), by="test")
            await screen.shows("ASKS", "echo one ⏎ touch hidden", "a: read all of it")
            await screen.keys("a")
            await screen.shows("All that waits of a1", "command: echo one", "   touch hidden", "Let it run")
            assert base.ran() == []
            await screen.keys("a")
            await ended(daemon)
    assert base.ran() == ["echo one", " touch hidden"]


async def test_an_agent_is_told_paused_and_stopped_and_a_daemon_that_went_away_is_told_of(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    open('heard', 'a').write(str(hear()))")
    with terminal(base, "sleep", "1000") as screen:
        async with served(base) as (daemon, _):
            await daemon.submit(base.submission(), by="test")
            await until(lambda: daemon.board.summary("a1").state == "running")
            await anyio.to_thread.run_sync(screen.tmux, "respawn-pane", "-k", *TOP)
            await screen.shows("a1", "running")
            await screen.keys("s")
            await screen.shows("Say to a1")
            await screen.keys("Mind the gap", "Enter")
            await until(lambda: (base.repo / "heard").exists() and "Mind the gap" in (base.repo / "heard").read_text())
            await screen.shows("a1 was told", without="Say to a1")
            await screen.keys("i")
            as_the_manual_shows("Interrupt", await screen.shows("Interrupt a1", "Enter: do it"))
            await screen.keys("Read the tests first", "Enter")
            await until(lambda: [one.text for one in base.events(events.RedirectRequested)] == ["Read the tests first"])
            await until(lambda: "'interrupt'" in (base.repo / "heard").read_text())
            await screen.shows("a1", without="Interrupt a1")
            await screen.keys("p")
            await screen.shows("paused")
            await screen.keys("x")
            await screen.shows("Type a1 to stop it")
            await screen.keys("a1", "Enter")
            await until(lambda: daemon.board.summary("a1").state in ("stopping", "stopped"))
        await screen.shows("No daemon listens")
        await screen.keys("q")
        await until(lambda: screen.tmux("list-panes", "-F", "#{pane_dead}") == "1\n")


async def test_without_colour_the_board_has_each_state_in_words_as_the_manual_shows_it(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo one > one")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt="Write it"), by="test")
        await until(lambda: bool(daemon.board.summary("a1").waiting))
        with terminal(base, *TOP, NO_COLOR="1") as screen:
            shown = await screen.shows("a1", "ASKS", "asks   Bash echo one > one", "1 waits for you")
            drawn = await anyio.to_thread.run_sync(screen.tmux, "capture-pane", "-e", "-p")
            assert hues(drawn) == []
            assert hues("\x1b[1;31m \x1b[38;5;9m \x1b[48;2;1;2;2m \x1b[38;5;240m") == ["1;31", "38;5;9", "48;2;1;2;2"]
            as_the_manual_shows("chaperon  1 live", shown)
            await screen.keys("a")
            await until(lambda: len(base.ran()) == 1)
        await ended(daemon)
