"""The routes by which settings of a repository are looked at and let count, and what that does to agents."""

import subprocess
from pathlib import Path
from typing import Any

import httpx
import orjson

from supervisor.config.environment import STRICT_SERVERS
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.stages.daemon import Base, ended, reached, served

HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}

SAYS_HOW_IT_WAS_STARTED = """
with open("arguments.json", "w") as file:
    json.dump(sys.argv, file)
begin()
done()
hear()
"""

CHANGES_SETTINGS_AS_IT_STARTS = """
hello = hear()
with open(".claude/settings.json", "w") as file:
    file.write('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}')
say({"type": "control_response", "response": {"subtype": "success", "request_id": hello["request_id"], "response": {}}})
while True:
    hear()
"""


def settings(base: Base, **given: Any) -> None:
    path = base.repo / ".claude/settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(orjson.dumps(given))


async def look(base: Base, client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/v1/trust", params={"directory": str(base.repo)})
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def decide(base: Base, client: httpx.AsyncClient, digest: str, *, granted: bool = True) -> httpx.Response:
    return await client.post("/v1/trust", json={"directory": str(base.repo), "digest": digest, "granted": granted})


async def test_what_settings_bring_is_shown_and_off_until_somebody_says_that_it_counts(base: Base) -> None:
    settings(base, hooks=HOOKS, permissions={"allow": ["Bash(ls)"]})
    async with served(base) as (_, client):
        shown = await look(base, client)
        assert [(thing["kind"], thing["counts"]) for thing in shown["things"]] == [
            ("hook", False),
            ("permission", True),
        ]
        assert (shown["repository"], shown["said"]) == (str(base.repo), None)
        answer = await decide(base, client, shown["digest"])
        assert answer.json() == await look(base, client)
        assert [thing["counts"] for thing in answer.json()["things"]] == [True, True]
        assert answer.json()["said"]["granted"]
    (decided,) = base.events(events.TrustDecided)
    assert (decided.repository, decided.granted, [thing.kind for thing in decided.brings]) == (
        str(base.repo),
        True,
        ["hook", "permission"],
    )
    assert decided.by


async def test_what_was_said_outlives_the_daemon_and_holds_for_what_was_shown_alone(base: Base) -> None:
    settings(base, hooks=HOOKS)
    async with served(base) as (_, client):
        await decide(base, client, (await look(base, client))["digest"])
    async with served(base) as (_, client):
        assert (await look(base, client))["said"]["granted"]
        settings(base, hooks=HOOKS, env={"A": "1"})
        assert (await look(base, client))["said"] is None


async def test_settings_that_changed_since_they_were_shown_are_not_let_count(base: Base) -> None:
    settings(base, hooks=HOOKS)
    async with served(base) as (_, client):
        digest = (await look(base, client))["digest"]
        settings(base, env={"A": "1"})
        answer = await decide(base, client, digest)
        assert answer.status_code == 422
        assert "is not what was shown" in answer.json()["what"]
        assert (await decide(base, client, "")).status_code == 422
        assert not base.events(events.TrustDecided)


async def test_trust_is_taken_back(base: Base) -> None:
    settings(base, hooks=HOOKS)
    async with served(base) as (_, client):
        await decide(base, client, (await look(base, client))["digest"])
        answer = await decide(base, client, "", granted=False)
        assert answer.json()["said"] is None


async def test_where_there_is_no_repository_nothing_is_shown(base: Base, tmp_path: Path) -> None:
    async with served(base) as (_, client):
        answer = await client.get("/v1/trust", params={"directory": str(tmp_path / "nowhere")})
        assert answer.status_code == 422


def arguments(base: Base) -> tuple[dict[str, Any], bool]:
    """The settings that the CLI was started with, and whether servers of settings were to be started."""
    given = orjson.loads((base.repo / "arguments.json").read_bytes())
    return orjson.loads(given[given.index("--settings") + 1]), STRICT_SERVERS not in given


async def test_an_agent_is_started_for_what_counts_and_its_journal_says_what_does_not(base: Base) -> None:
    base.cli(SAYS_HOW_IT_WAS_STARTED)
    settings(base, hooks=HOOKS, env={"A": "theirs"})
    (base.repo / ".mcp.json").write_bytes(orjson.dumps({"mcpServers": {"db": {"command": "db"}}}))
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(), "ann")
        await ended(daemon)
        given, servers = arguments(base)
        assert (given["disableAllHooks"], given["env"]["A"], servers) == (True, "", False)
        await decide(base, client, (await look(base, client))["digest"])
        await daemon.submit(base.submission(name="a2"), "ann")
        await ended(daemon, "a2")
        given, servers = arguments(base)
        assert (given["disableAllHooks"], "A" in given["env"], servers) == (False, False, True)
    first, second = base.events(events.SettingsFound)
    assert (first.trusted, [thing.kind for thing in first.off]) == (False, ["hook", "variable", "server"])
    assert (second.trusted, second.off) == (True, ())


async def test_where_settings_bring_nothing_the_journal_says_nothing(base: Base) -> None:
    settings(base, model="opus", permissions={"allow": ["Bash(ls)"]})
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), "ann")
        await ended(daemon)
    assert not base.events(events.SettingsFound)


async def test_settings_that_change_while_the_cli_starts_end_the_agent(base: Base) -> None:
    base.cli(CHANGES_SETTINGS_AS_IT_STARTS)
    settings(base, model="opus")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), "ann")
        await reached(daemon, AgentState.STOPPED)
    (incident,) = [one for one in base.incidents() if one["type"] == "emergency_stop"]
    assert (incident["issue"], incident["severity"]) == ("gate_bypassed", "critical")
    assert "changed while the CLI started" in incident["summary"]


async def test_in_a_worktree_of_its_own_an_agent_has_what_its_repository_is_trusted_with(base: Base) -> None:
    base.cli(SAYS_HOW_IT_WAS_STARTED)
    settings(base, hooks=HOOKS)
    git = ["git", "-C", str(base.repo), "-c", "user.name=x", "-c", "user.email=x@x.example"]
    subprocess.run([*git, "add", ".claude"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "one"], check=True)
    async with served(base) as (daemon, client):
        await decide(base, client, (await look(base, client))["digest"])
        await daemon.submit(base.submission(workspace="new"), "ann")
        await ended(daemon)
    (found,) = base.events(events.SettingsFound)
    assert (found.repository, found.trusted) == (str(base.repo), True)
