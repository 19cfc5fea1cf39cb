import json
import re
from functools import partialmethod
from typing import Any

import pytest

from supervisor.cli import common
from supervisor.cli.commands.agents import agents
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.api.serving.agent_rows import AgentRows
from supervisor.runtime.assembly import policy
from supervisor.runtime.journal.journal import JournalState
from supervisor.runtime.service import run_daemon
from tests.stages.daemon import Base, ended, reached, served, until
from tests.supervisor.cli.conftest import chaperon

WAITS = "begin()\nwhile True:\n    hear()"


async def test_what_ran_is_listed_and_shown_for_people_and_as_data(base: Base) -> None:
    base.plan("ls", "rm -rf /home/somebody")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt="make\nit \x1b[31mred"), by="test")
        await ended(daemon)
        (row,) = (await chaperon("ps")).output.splitlines()[1:]
        assert row.split()[:2] == ["a1", "done"]
        assert "\x1b" not in row
        shown = (await chaperon("show", "a1")).output
        assert "rm -rf /home/somebody" in shown
        assert "calls      2, 1 blocked" in shown
        data = json.loads((await chaperon("show", "a1", "--json")).output)
        assert data.keys() >= {"agent", "state", "task", "workspace", "session_id"}
        assert data["task"] == "make\nit \x1b[31mred"
        assert json.loads((await chaperon("ps", "--json")).output) == [data]


def _at_most_two(rows: AgentRows, parts: Any, wanted: Any, names: Any, after: Any, limit: int) -> Any:
    """Answer as a daemon that has more agents than it gives at once."""
    return parts(rows, wanted, names, after, min(limit, 2))


async def test_a_long_list_comes_in_pages(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "PAGE", 2)
    base.cli("begin()")
    async with served(base) as (daemon, _):
        for name in ("a1", "a2", "a3"):
            await daemon.submit(base.submission(name=name), by="test")
            await ended(daemon, name)

        async def page(*given: str) -> tuple[list[str], str]:
            told = await chaperon("ps", *given)
            return [row.split()[0] for row in told.stdout.splitlines()[1:] if row[0] == "a"], told.stderr

        rows, more = await page()
        assert rows == ["a1", "a2"]
        assert "These are the first 2. The next ones: the same with --after a2." in more
        assert await page("--after", "a2") == (["a3"], "")
        assert await page("--limit", "1") == (["a1"], "")
        assert await page("--limit", "5") == (["a1", "a2", "a3"], "")
        assert [one["agent"] for one in json.loads((await chaperon("ps", "--json")).output)] == ["a1", "a2", "a3"]
        assert "There is no agent 'nobody'" in (await page("--after", "nobody"))[1]
        monkeypatch.setattr(common, "AGENTS_AT_ONCE", 2)
        monkeypatch.setattr(AgentRows, "parts", partialmethod(_at_most_two, AgentRows.parts))
        assert [one["agent"] for one in json.loads((await chaperon("ps", "--json")).output)] == ["a1", "a2", "a3"]


async def test_of_an_agent_that_nobody_watches_over_it_is_said_what_is_the_matter(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.cli(WAITS)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
    monkeypatch.setattr(policy, "Session", lambda *_: 1 / 0)
    async with served(base):
        _, row, matter, *told = (await chaperon("ps")).output.splitlines()
        assert "nobody watches over 1 agent" in " ".join(told), "what the daemon took over, and what is missing of it"
        assert row.split()[:2] == ["a1", "running"]
        assert "nobody watches over it: its session could not be made (ZeroDivisionError" in matter
        assert "nobody watches over it: its session could not" in (await chaperon("show", "a1")).output
        assert "chaperon stop a1" in (await chaperon("pause", "a1")).stderr
        assert (await chaperon("stop", "a1")).output == "a1 is stopped.\n"
        assert len((await chaperon("ps")).output.splitlines()) == 2 + len(told)


async def test_the_list_says_that_what_the_files_say_is_not_in_force_and_what_to_do(base: Base) -> None:
    async with served(base) as (daemon, _):
        assert "not in force" not in (await chaperon("ps")).output
        daemon.has_unused_configuration("verify.command is x and was none. To look: chaperon trust --programs")
        told = " ".join((await chaperon("ps")).output.split())
        assert "What the configuration's files say is not in force: verify.command is x and was none. To look" in told


async def test_a_full_disk_is_told_beside_agents_that_wait_for_it(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        monkeypatch.setattr(daemon.journal.reserve, "hold", lambda: False)
        monkeypatch.setattr(daemon.journal._writer, "state", JournalState.FULL)
        for command in (["ps"], ["show", "a1"]):
            told = " ".join((await chaperon(*command)).output.split())
            assert "4 MiB and an inode must be free for" in told
            assert "Agents wait at their next tool call until there is." in told
        monkeypatch.undo()


async def test_an_agent_is_steered_by_name(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        assert (await chaperon("pause", "a1")).output == "a1 is paused.\n"
        assert (await chaperon("resume", "a1")).output == "a1 is running.\n"
        assert (await chaperon("say", "a1", "two", "words")).output == "a1 is running, and gets the message.\n"
        assert (await chaperon("redirect", "a1", "other")).exit_code == 0
        assert (await chaperon("stop", "a1", "--force", "--reason", "enough")).output == "a1 is stopping.\n"
        assert (await ended(daemon)).why.endswith("enough")


async def test_all_agents_are_steered_at_once_with_a_row_for_each(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
            await reached(daemon, AgentState.RUNNING, name)
        await chaperon("pause", "a2")
        head, first, second, rest = (await chaperon("pause", "--all", "--reason", "lunch")).output.splitlines()
        assert head.split() == ["AGENT", "STATE", "ASKED", "WHAT"]
        assert (first.split()[:3], second.split()[:3]) == (["a1", "paused", "yes"], ["a2", "paused", "no"])
        assert rest.endswith("To go on: chaperon resume --all")
        assert "held, by " in (await chaperon("ps")).output
        told = json.loads((await chaperon("say", "--repo", str(base.repo), "two", "words", "--json")).output)
        assert [(row["agent"], row["done"]) for row in told] == [("a1", True), ("a2", True)]
        assert json.loads((await chaperon("resume", "--all", "--json")).output)[0]["state"] == "running"
        assert (await chaperon("stop", "--all", "--force")).exit_code == 0
        await ended(daemon, "a1")
        await ended(daemon, "a2")
        assert (await chaperon("stop", "--all")).output == "No agent is at work.\n"
        assert (await chaperon("resume", "--all")).exit_code == 0


async def test_who_is_meant_must_be_said_and_once(base: Base) -> None:
    async with served(base):
        nobody, both = await chaperon("stop"), await chaperon("pause", "a1", "--all")
        assert (nobody.exit_code, both.exit_code) == (2, 2)
        assert "--all" in nobody.stderr
        assert "nothing was done" in both.stderr


RUNS = """
begin()
say({"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "I look at it."}]}})
call = {"type": "tool_use", "id": "u1", "name": "Bash", "input": {"command": "touch new.txt; sleep 9"}}
say({"type": "assistant", "message": {"id": "m1", "content": [call]}})
about = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": call["input"], "tool_use_id": "u1"}
hook = {"subtype": "hook_callback", "callback_id": "PreToolUse", "input": {**about, "cwd": os.getcwd()}}
say({"type": "control_request", "request_id": "r1", "request": hook})
while hear().get("response", {}).get("request_id") != "r1":
    pass
open("new.txt", "w").write("x")
while True:
    hear()
"""
"""A CLI whose model says something, writes a file, and runs a command that takes its time."""


async def test_of_a_healthy_agent_is_shown_what_it_does_and_nothing_that_is_not_the_case(base: Base) -> None:
    base.cli(RUNS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: bool(daemon.board.summary("a1").calls) and (base.repo / "new.txt").exists())
        shown = (await chaperon("show", "a1")).output
        facts = {line.split()[0]: line for line in shown.splitlines()}
        assert facts["agent"].startswith("agent      a1, running for ")
        assert re.match(r"now        Bash touch new.txt; sleep 9 \(for [0-9.]+ m?s\)", facts["now"])
        assert facts["said"] == "said       I look at it."
        assert "new.txt" in facts["files"]
        assert not {"issues", "answers", "incidents", "learned", "outcomes", "waits"} & facts.keys()
        assert len(shown.splitlines()) <= 14
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test", force=True))
        await ended(daemon)
        over = (await chaperon("show", "a1")).output
        assert re.search(r"^agent      a1, stopped after [0-9.]+ m?s, ", over, re.MULTILINE)
        assert "CLI 2" not in over.partition("session")[0]
        assert "now " not in over


async def test_every_steering_command_prints_the_agent_as_data(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        prompt = base.submission().prompt
        for command, state, task in (
            (("pause", "a1"), "paused", prompt),
            (("resume", "a1"), "running", prompt),
            (("say", "a1", "two"), "running", prompt),
            (("redirect", "a1", "other"), "running", "other"),
            (("stop", "a1", "--force"), "stopping", "other"),
        ):
            data = json.loads((await chaperon(*command, "--json")).output)
            assert (data["agent"], data["state"], data["task"]) == ("a1", state, task)
        await ended(daemon)


async def test_what_is_refused_exits_with_1_and_the_daemons_words(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        refused = await chaperon("stop", "a1")
        assert (refused.exit_code, "is done and cannot be stopped" in refused.stderr) == (1, True)
        assert (await chaperon("show", "nobody")).exit_code == 1


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a b?x=1#y"])
async def test_a_name_that_means_something_in_a_path_is_still_a_name(base: Base, name: str) -> None:
    async with served(base):
        refused = await chaperon("show", name)
        assert refused.exit_code in (1, 2)
        assert "chaperon:" in refused.stderr


@pytest.mark.parametrize(
    "command",
    [("checkpoints", "show"), ("checkpoints", "diff"), ("checkpoints", "forget"), ("rollback",), ("recover",)],
)
async def test_a_name_of_another_thing_is_no_more_than_a_name_either(base: Base, command: tuple[str, ...]) -> None:
    async with served(base):
        for name in ("a/b?agent=x#y", "..", ""):
            refused = await chaperon(*command, name)
            assert refused.exit_code in (1, 2)
            assert "chaperon:" in refused.stderr


async def test_nothing_to_say_is_the_callers_mistake(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        assert (await chaperon("say", "a1", " ")).exit_code == 2


ERRS = """
begin()
for n in range(3):
    call = {"type": "tool_use", "id": f"u{n}", "name": "Bash", "input": {"command": "make"}}
    say({"type": "assistant", "message": {"id": f"m{n}", "role": "assistant", "content": [call], "usage": {}}})
    about = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": f"u{n}"}
    hook = {"subtype": "hook_callback", "callback_id": "PreToolUse", "input": {**about, "cwd": os.getcwd()}}
    say({"type": "control_request", "request_id": f"r{n}", "request": hook})
    while hear().get("type") != "control_response":
        pass
    result = {"type": "tool_result", "tool_use_id": f"u{n}", "content": "make: no rule", "is_error": True}
    say({"type": "user", "message": {"role": "user", "content": [result]}})
while True:
    hear()
"""
"""A CLI whose model makes the same mistake three times and then waits."""


async def test_why_this_answer_and_not_the_next_is_shown_while_it_runs_and_after_its_end(base: Base) -> None:
    base.cli(ERRS)
    base.config["interventions"] = {"intervention_cooldown_seconds": 3_600}
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: bool(daemon.board.summary("a1").interventions))
        shown = (await chaperon("show", "a1", "--why")).output
        assert "the last answer was soft_correction (a1-" in shown
        assert "  because the mildest answer comes first" in shown
        assert "  severity by score: medium 0.5 * confidence 0.7 * (1 + impact 0.2) = 0.42;" in shown
        assert "  not emergency_stop: a score of 0.42 is too low for it" in shown
        assert "the agent is left alone for" in shown
        assert "whether the last one helps is still being seen" in shown
        last = json.loads((await chaperon("show", "a1", "--json")).output)["explained"]["last"]
        assert (last["kind"], last["ceiling"], last["score"]["total"]) == (
            "soft_correction",
            "context_reinforcement",
            0.42,
        )
        assert set(last["not"]) == {
            "context_reinforcement",
            "resource_throttling",
            "checkpoint_rollback",
            "emergency_stop",
        }
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test", force=True))
        await ended(daemon)
        after = (await chaperon("show", "a1", "--why")).output
        assert "  because the mildest answer comes first" in after
        assert "before the next answer" not in after
        assert "what such answers came to, in all runs" in after
        assert "soft_correction for repetitive_errors: helped 0 of 0 times, 1 unclear" in after
    async with served(base) as (another, _):
        assert (await chaperon("show", "a1", "--why")).output == after, "another daemon knows it too"
        assert [row["unclear"] for row in another.board.record.rows({"repetitive_errors"})] == [1]


async def test_a_directory_whose_name_is_not_utf_8_is_refused_and_no_other_is_held() -> None:
    given = await chaperon("pause", "--repo", b"/tmp/\xff".decode(errors="surrogateescape"))
    assert (given.exit_code, "is not UTF-8" in given.output) == (2, True)
