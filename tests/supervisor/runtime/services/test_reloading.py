"""A configuration that changes while a daemon runs: real files, a real daemon, an agent that asks for what the test tells it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
import yaml

from monitors.contract.words import Decision
from supervisor.config.load import ConfigSource
from supervisor.protocol import events
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.services.reloading import folders
from tests.stages.daemon import Base, served, until

pytestmark = pytest.mark.slow

NO_DEPLOY = {"name": "own.no-deploy", "match": "deploy", "decision": "block", "reason": "Ask ann first."}

OBEYS = """
begin()
for number, command in enumerate(open({orders!r})):
    hook = {{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {{"command": command.strip()}},
             "tool_use_id": f"toolu_{{number}}", "cwd": os.getcwd()}}
    say({{"type": "control_request", "request_id": f"call-{{number}}",
         "request": {{"subtype": "hook_callback", "callback_id": "pre", "input": hook}}}})
while True:
    hear()
"""
"""A CLI that asks for each command that is written into a pipe."""


@dataclass
class House:
    """A daemon whose configuration is a file, and an agent."""

    base: Base
    file: Path
    daemon: Daemon
    client: httpx.AsyncClient
    orders: TextIOWrapper | None = None
    given: dict[str, Any] = field(default_factory=dict)

    def write(self, **config: Any) -> None:
        """Replace the configuration, as an editor does."""
        beside = self.file.with_suffix(".new")
        beside.write_text(yaml.safe_dump({**self.given, **config}))
        beside.rename(self.file)

    async def policy(self, number: int = 1) -> events.PolicyChanged:
        """The so manieth policy that was put in force, once it is."""
        await until(lambda: len(self.base.events(events.PolicyChanged)) >= number)
        changed: events.PolicyChanged = self.base.events(events.PolicyChanged)[number - 1]
        return changed

    async def incident(self, kind: str) -> dict[str, Any]:
        await until(lambda: any(one["type"] == kind for one in self.base.incidents()))
        return next(one for one in self.base.incidents() if one["type"] == kind)

    async def unused(self) -> str:
        """Why what the file says is not in force, as people are told."""
        return str((await self.client.get("/v1/health")).json()["unused_configuration"])

    async def confirm(self) -> None:
        """Confirm the programs that the configuration names now, as a person does."""
        shown = (await self.client.get("/v1/trust/programs")).json()
        answer = await self.client.post("/v1/trust/programs", json={"digest": shown["digest"]})
        assert answer.status_code == 200, answer.text

    async def asks(self, command: str) -> events.ReviewMade:
        """Have the agent ask for a command, and wait for the review."""
        before = len(self.base.events(events.ReviewMade))
        if self.orders is None:
            await self.daemon.submit(self.base.submission(), "ann")
            self.orders = await anyio.to_thread.run_sync(lambda: (self.base.root / "orders").open("w"))
        self.orders.write(f"{command}\n")
        self.orders.flush()
        await until(lambda: len(self.base.events(events.ReviewMade)) > before)
        made: events.ReviewMade = self.base.events(events.ReviewMade)[-1]
        return made


@asynccontextmanager
async def house(root: Path, **config: Any) -> AsyncIterator[House]:
    base = Base(root)
    os.mkfifo(base.root / "orders")
    base.cli(OBEYS.format(orders=str(base.root / "orders")))
    file = base.root / "conf" / "chaperon.yaml"
    file.parent.mkdir()
    given = {"agent": {"command": str(base.command)}, "checkpoints": {"enabled": False}, **config}
    file.write_text(yaml.safe_dump(given))
    source = ConfigSource({"HOME": str(base.home)}, file, system=base.root / "none" / "chaperon.yaml")
    loaded = await anyio.to_thread.run_sync(source.load)
    async with served(base, config=loaded.config, source=source) as (daemon, client):
        made = House(base, file, daemon, client, given=given)
        try:
            yield made
        finally:
            if made.orders is not None:
                made.orders.close()


async def test_an_agent_that_runs_is_reviewed_by_the_new_rules_from_its_next_call_on(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        assert (await here.asks("make deploy")).review.decision is Decision.ALLOW
        here.write(rules=[NO_DEPLOY])
        changed = await here.policy()
        refused = (await here.asks("make deploy")).review
        assert (refused.decision, refused.rule) == (Decision.BLOCK, "own.no-deploy")
        assert changed.changed == ("rules",)
        assert changed.digest != changed.before
        kinds = here.base.kinds()
        reviews = [n for n, kind in enumerate(kinds) if kind == "review_made"]
        assert reviews[0] < kinds.index("policy_changed") < reviews[1]


async def test_a_review_that_nobody_takes_is_made_by_the_policy_in_force(tmp_path: Path) -> None:
    async def decided(here: House) -> object:
        asked = {"tool": "Bash", "input": {"command": "make deploy"}, "cwd": str(here.base.repo)}
        return (await here.client.post("/v1/review", json=asked)).json()["decision"]

    async with house(tmp_path) as here:
        assert await decided(here) == "allow"
        here.write(rules=[NO_DEPLOY])
        await here.policy()
        assert await decided(here) == "block"


async def test_a_file_that_cannot_be_used_changes_nothing_and_is_an_incident_with_its_place(tmp_path: Path) -> None:
    async with house(tmp_path, rules=[NO_DEPLOY]) as here:
        here.file.write_text("rules: []\nreviewer:\n  risk_treshold: 2\n")
        incident = await here.incident("configuration_refused")
        assert f"{here.file}:3:3: unknown key 'risk_treshold' in reviewer" in incident["summary"]
        assert "did you mean 'risk_threshold'? Nothing was changed" in incident["summary"]
        assert (await here.asks("make deploy")).review.rule == "own.no-deploy"
        assert not here.base.events(events.PolicyChanged)
        assert "unknown key 'risk_treshold'" in await here.unused()
        here.write(rules=[])
        await here.policy()
        assert await here.unused() == ""
        assert (await here.asks("make deploy")).review.decision is Decision.ALLOW


async def test_what_a_start_alone_can_take_is_named_and_the_rest_is_taken(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.write(rules=[NO_DEPLOY], socket={"mode": 0o660}, audit={"log_level": "debug"})
        changed = await here.policy()
        incident = await here.incident("restart_needed")
        assert changed.changed == ("rules",)
        assert "at its start alone: socket.mode, audit.log_level." in incident["summary"]
        assert await here.unused() == (
            "the daemon takes socket.mode, audit.log_level at its start alone. "
            "Start the daemon again to have it; agents live on meanwhile."
        )
        here.write(rules=[NO_DEPLOY])
        await until(lambda: here.daemon.unused_configuration == "")
        assert (await here.asks("make deploy")).review.rule == "own.no-deploy"


async def test_work_is_checked_and_merged_by_the_configuration_in_force(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        before = here.daemon.merging.work.rules
        here.write(merge="auto", verify={"command": "make test", "rounds": 5, "every_steps": 3})
        await here.incident("programs_changed")
        assert here.daemon.merging.work.rules is before, "a command that nobody confirmed is not run"
        await here.confirm()
        changed = ("verify.command", "verify.rounds", "verify.every_steps", "merge.mode")
        assert (await here.policy()).changed == changed
        await until(lambda: here.daemon.merging.work.rules is not before)
        rules = here.daemon.merging.work.rules
        assert (rules.verify.command, rules.verify.rounds, rules.merge.mode) == ("make test", 5, "auto")
        assert rules.verify.every_steps == 3
        assert (rules.folder, rules.notes, rules.trusted) == (before.folder, before.notes, before.trusted)


async def test_limits_and_patterns_are_those_of_tasks_from_then_on(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.write(resources={"max_token_usage": 1_234})
        assert (await here.policy()).changed == ("resources.max_token_usage",)
        await here.asks("ls")
        (submitted,) = here.base.events(events.TaskSubmitted)
        assert submitted.task.limits.max_token_usage == 1_234


PLUGIN_ALLOWS = """
class Own:
    def review(self, action, context):
        from monitors.contract.actions import Review
        from monitors.contract.words import Decision, Severity
        return Review(Decision.ALLOW, 0.0, 1.0, Severity.LOW, "as the plugin says")

def make_reviewer():
    return Own()
"""
PLUGIN_BLOCKS = PLUGIN_ALLOWS.replace("ALLOW", "BLOCK")


async def test_a_plugin_whose_file_changes_is_loaded_once_a_person_confirms_it(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    tmp_path.mkdir(exist_ok=True)
    own.write_text(PLUGIN_ALLOWS)
    async with house(tmp_path / "house", plugins={"reviewers": [str(own)]}) as here:
        assert (await here.asks("ls")).review.decision is Decision.ALLOW
        own.write_text(PLUGIN_BLOCKS)
        incident = await here.incident("programs_changed")
        assert f"{own} is " in incident["summary"]
        assert "chaperon trust --programs" in incident["way_out"]
        assert (await here.asks("ls")).review.decision is Decision.ALLOW
        await here.confirm()
        assert (await here.policy()).changed == ()
        assert (await here.asks("ls")).review.decision is Decision.BLOCK
        own.write_text("def make_reviewer(:\n")
        await until(lambda: len([one for one in here.base.incidents() if one["type"] == "programs_changed"]) == 2)
        await here.confirm()
        incident = await here.incident("configuration_refused")
        assert f"{own}" in incident["summary"]
        assert "line 1" in incident["summary"]
        assert (await here.asks("ls")).review.decision is Decision.BLOCK


MARKS = """
from pathlib import Path
Path({mark!r}).write_text("ran")

def make_detector():
    raise RuntimeError
"""


async def test_code_that_somebody_writes_into_the_configuration_is_not_run_and_nothing_of_it_is_taken(
    tmp_path: Path,
) -> None:
    mark, evil = tmp_path / "mark", tmp_path / "evil.py"
    evil.write_text(MARKS.format(mark=str(mark)))
    async with house(tmp_path / "house", rules=[NO_DEPLOY]) as here:
        here.write(rules=[], plugins={"detectors": [str(evil)]}, hooks={"on-error": str(evil)})
        incident = await here.incident("programs_changed")
        assert incident["severity"] == "high"
        assert f'plugins.detectors is ["{evil}"] and was none' in incident["summary"]
        assert f"hooks.on-error is {evil} and was none" in incident["summary"]
        assert (await here.asks("make deploy")).review.rule == "own.no-deploy", "the old policy holds whole"
        assert not mark.exists()
        assert not here.base.events(events.PolicyChanged)
        shown = (await here.client.get("/v1/trust/programs")).json()
        assert {one["key"] for one in shown["programs"] if one["trusted"] is not None} == {
            "plugins.detectors", "hooks.on-error", str(evil)
        }  # fmt: skip
        stale = await here.client.post("/v1/trust/programs", json={"digest": "0" * 32})
        assert stale.status_code == 422
        assert not mark.exists()
        assert "To look, and to confirm them: chaperon trust --programs" in await here.unused()
        here.write(rules=[])
        assert (await here.policy()).changed == ("rules",)


async def test_a_start_runs_what_was_trusted_and_not_what_somebody_wrote_meanwhile(tmp_path: Path) -> None:
    mark, evil, own = tmp_path / "mark", tmp_path / "evil.py", tmp_path / "own.py"
    evil.write_text(MARKS.format(mark=str(mark)))
    own.write_text(PLUGIN_BLOCKS)
    async with house(tmp_path / "house", plugins={"reviewers": [str(own)]}) as here:
        base, file = here.base, here.file
        assert (await here.asks("ls")).review.decision is Decision.BLOCK
        await here.client.post("/v1/agents/a1/stop", json={"reason": "done", "force": True})
        await until(lambda: here.daemon.board.summary("a1").state.ended)
    own.write_text(MARKS.format(mark=str(mark)))
    here.write(plugins={"reviewers": [str(own)], "detectors": [str(evil)]})
    source = ConfigSource({"HOME": str(base.home)}, file, system=base.root / "none" / "chaperon.yaml")
    loaded = await anyio.to_thread.run_sync(source.load)
    async with served(base, config=loaded.config, source=source) as (daemon, client):
        again = House(base, file, daemon, client, given=here.given)
        incident = await again.incident("programs_changed")
        assert incident["severity"] == "critical"
        asked = {"tool": "Bash", "input": {"command": "ls"}, "cwd": str(base.repo)}
        assert (await client.post("/v1/review", json=asked)).json()["decision"] == "block"
        assert not mark.exists()
        assert len([one for one in base.incidents() if one["type"] == "programs_changed"]) == 1
        own.write_text(PLUGIN_BLOCKS)
        again.write(plugins={"reviewers": [str(own)]}, rules=[NO_DEPLOY])
        await again.policy()
        assert not mark.exists()


async def test_a_list_of_programs_that_is_not_the_one_a_person_confirmed_is_told(tmp_path: Path) -> None:
    async with house(tmp_path / "house") as here:
        base = here.base
        here.write(verify={"command": "true"})
        await here.incident("programs_changed")
        await here.confirm()
    (base.places.programs / "programs.json").unlink()
    async with served(base):
        await until(lambda: any(one["type"] == "programs_list_changed" for one in base.incidents()))


async def test_texts_are_watched_and_one_that_cannot_be_used_is_an_incident(tmp_path: Path) -> None:
    tmp_path.joinpath("texts.yaml").write_text("repetition: Stop that.\n")
    given = {"soft_correction": {"custom_prompts_path": str(tmp_path / "texts.yaml")}}
    async with house(tmp_path / "house", interventions=given) as here:
        tmp_path.joinpath("texts.yaml").write_text("repetition: 'Stop {thatt}.'\n")
        incident = await here.incident("configuration_refused")
        assert f"{tmp_path / 'texts.yaml'}:1:13: A text of repetition names the field 'thatt'" in incident["summary"]
        tmp_path.joinpath("texts.yaml").write_text("repetition: Stop this.\n")
        assert (await here.policy()).changed == ()


async def test_a_change_that_says_the_same_is_no_change(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.file.write_text(f"# A remark.\n{here.file.read_text()}")
        here.write(rules=[NO_DEPLOY])
        await here.policy()
        here.write()
        await here.policy(2)
        assert len(here.base.events(events.PolicyChanged)) == 2
        first, second = here.base.events(events.PolicyChanged)
        assert (second.before, second.digest) == (first.digest, first.before)
        (began,) = here.base.events(events.DaemonStarted)
        kept = {path.stem for path in here.base.places.policies.iterdir()}
        assert {began.policy} | kept == {first.before, first.digest}, "a replay reviews by them"


def test_what_is_not_there_yet_is_seen_from_the_nearest_folder_above(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "link").symlink_to(tmp_path / "file")
    files = (tmp_path / "none" / "deeper" / "file", tmp_path / "there" / "link")
    assert folders(files) == {tmp_path, tmp_path / "there"}
