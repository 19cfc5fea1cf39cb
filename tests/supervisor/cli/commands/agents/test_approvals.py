"""Answering actions that wait, by name, by how a request begins, and all at once."""

import json
import os
import subprocess
import sys

import anyio.to_thread
import pytest

from monitors.contract.errors import NotFoundError, UsageError
from supervisor.cli.commands.agents.approvals import ApprovalSelection
from tests.stages.daemon import Base, ended, served, until
from tests.supervisor.cli.conftest import chaperon

WAITING = [
    {"agent": "a1", "request_id": "0123456789ab-1"},
    {"agent": "a1", "request_id": "0123456789cd-2"},
    {"agent": "a2", "request_id": "9876543210-3"},
]


@pytest.mark.parametrize(
    ("wanted", "requests"),
    [
        (ApprovalSelection("a2", None, False), ["9876543210-3"]),
        (ApprovalSelection("a1", "0123456789ab", False), ["0123456789ab-1"]),
        (ApprovalSelection("a2", "", False), ["9876543210-3"]),
        (ApprovalSelection("a1", None, True), ["0123456789ab-1", "0123456789cd-2"]),
        (ApprovalSelection(None, None, True), ["0123456789ab-1", "0123456789cd-2", "9876543210-3"]),
    ],
)
def test_an_action_is_chosen_by_its_agent_by_how_its_request_begins_or_with_all(
    wanted: ApprovalSelection, requests: list[str]
) -> None:
    assert [each["request_id"] for each in wanted.chosen(WAITING)] == requests


def test_what_does_not_say_which_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="2 actions of agent 'a1' wait") as several:
        ApprovalSelection("a1", "0123", False).chosen(WAITING)
    assert "0123456789a, 0123456789c; or --all" in several.value.way_out
    with pytest.raises(NotFoundError, match="No action 'x' of agent 'a1' waits"):
        ApprovalSelection("a1", "x", False).chosen(WAITING)
    with pytest.raises(NotFoundError, match="No action 'not this one' of agent 'a1' waits") as text:
        ApprovalSelection("a1", "not this one", False).chosen(WAITING)
    assert "A text for the model is said with --reason 'not this one'." in text.value.way_out
    with pytest.raises(NotFoundError, match=r"No action of agent 'a3' waits"):
        ApprovalSelection("a3", None, True).chosen(WAITING)
    with pytest.raises(UsageError, match="say whose"):
        ApprovalSelection(None, None, False).chosen(WAITING)
    with pytest.raises(UsageError, match="do not go together"):
        ApprovalSelection("a1", "0123", True).chosen(WAITING)


async def test_nothing_of_an_action_that_waits_is_hidden_from_who_answers_it(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan(f"echo {'x' * 300}\ntouch hidden")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="a1"), by="test")
        await until(lambda: sum(len(one.waiting) for one in daemon.board.summaries()) == 1)
        assert "    |   touch hidden\n" in (await chaperon("approvals")).output
        short = (await chaperon("ps")).output
        assert "xxx…" in short, "it is seen that something is left out"
        assert "chaperon approvals shows it whole" in short
        assert (await approved_on_a_terminal("n\n"))[0] == 2
        (waiting,) = daemon.board.summaries()[0].waiting
        code, asked = await approved_on_a_terminal("y\n")
        assert "    |   touch hidden\n" in asked
        assert asked.index("Let it run? [y/N]") > asked.index(waiting.request_id[:8]) > 0, "it is shown before"
        assert (code, "a1 may go on with it" in asked) == (0, True)
        await ended(daemon, "a1")


@pytest.mark.parametrize("answer", ["approve", "deny"])
@pytest.mark.parametrize("unseen", [("a1",), ("a1", ""), ("--all",)])
async def test_what_was_not_said_by_its_id_is_not_answered_without_a_terminal_to_show_it_on(
    base: Base, answer: str, unseen: tuple[str, ...]
) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo 1 > one")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="a1"), by="test")
        await until(lambda: sum(len(one.waiting) for one in daemon.board.summaries()) == 1)
        (waiting,) = daemon.board.summaries()[0].waiting
        refused = await chaperon(answer, *unseen)
        assert (refused.exit_code, waiting.request_id[:8] in refused.output) == (2, True), refused.output
        assert daemon.board.summaries()[0].waiting == [waiting]
        assert (await chaperon(answer, "a1", waiting.request_id[:8])).exit_code == 0
        await ended(daemon, "a1")


async def approved_on_a_terminal(typed: str) -> tuple[int, str]:
    """`chaperon approve a1`, at which somebody types; its exit code, and what it showed."""
    return await anyio.to_thread.run_sync(lambda: _approved(typed))


def _approved(typed: str) -> tuple[int, str]:
    ours, its = os.openpty()
    os.write(ours, b"y\n")  # before anything was asked
    with subprocess.Popen(
        [sys.executable, "-m", "supervisor.cli", "approve", "a1"], stdin=its, stdout=its, stderr=its
    ) as process:
        os.close(its)
        shown = b""
        try:
            while data := os.read(ours, 65_536):
                shown += data
                if data.endswith(b"[y/N]: "):
                    os.write(ours, typed.encode())
        except OSError:  # the end of the other side
            pass
        os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")


async def test_what_waits_is_shown_with_its_agent_and_how_it_is_answered(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo 1 > one")
    async with served(base) as (daemon, _):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
        await until(lambda: sum(len(one.waiting) for one in daemon.board.summaries()) == 2)
        listed = (await chaperon("ps")).output
        assert listed.count("waits for approval (since ") == 2
        assert "Bash echo 1 > one" in listed
        ids = {one.agent: one.waiting[0].request_id for one in daemon.board.summaries()}
        short = ids["a1"][:8]
        assert f"To answer: chaperon approve a1 {short}, or chaperon deny a1 {short}" in listed
        assert "waits for approval (since " in (await chaperon("show", "a1")).output
        for name in ("a1", "a2"):
            done = await chaperon("approve", name, ids[name], "--json")
            assert json.loads(done.output)["agent"] == name
            await ended(daemon, name)
        assert "waits for approval" not in (await chaperon("ps")).output
        assert (await chaperon("approve", "--all")).exit_code == 1
