"""Agents that are paid by the login of `claude`, and by a key where that is over, with the real CLI."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway import credential
from tests.stages.daemon import until
from tests.stages.live import live, make_repository
from tests.stages.token_server import NEW, NEW_REFRESH, OLD, TokenServer, login, token_server, write_login
from tests.stages.walled import over

pytestmark = pytest.mark.real_cli


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    with token_server(tmp_path / "server") as made:
        monkeypatch.setattr(credential, "TOKEN_URL", made.refresh_url)
        make_repository(tmp_path / "repo", {"README.md": "hello"})
        yield made


async def test_an_agent_is_paid_by_the_persons_login_which_is_refreshed_and_never_its_own(
    tmp_path: Path, server: TokenServer
) -> None:
    file = tmp_path / "person" / ".credentials.json"
    write_login(file, login(-1, Clock().wall()))
    policy = {"agent": {"credential": f"login:{file.parent}"}}
    async with live(tmp_path, [Say("hello")], policy, {"ANTHROPIC_BASE_URL": server.address}) as stage:
        await stage.submit("work")
        assert await over(stage) is AgentState.DONE
        (launched,) = await stage.events(events.AgentLaunched)
        assert launched.account == f"login:{file.parent}"
    assert len(server.asked) == 1
    assert {each["authorization"] for each in server.calls} == {f"Bearer {NEW}"}
    assert {NEW, NEW_REFRESH} <= set(file.read_text().split('"'))
    below = [each for each in (tmp_path / "state").rglob("*") if each.is_file()]
    assert not [each for each in below if any(word.encode() in each.read_bytes() for word in (NEW, NEW_REFRESH, OLD))]


async def test_where_a_login_is_over_the_next_credential_pays_for_the_very_call_and_a_person_is_told(
    tmp_path: Path, server: TokenServer
) -> None:
    server.refused, server.status, server.answer = {OLD}, 400, {"error": "invalid_grant"}
    file, key = tmp_path / "person" / ".credentials.json", tmp_path / "key"
    write_login(file, login(7_200, Clock().wall()))
    key.touch(mode=0o600)
    key.write_text("sk-second")
    policy = {"agent": {"credentials": [{"source": f"login:{file.parent}"}, {"source": f"file:{key}"}]}}
    async with live(tmp_path, [Say("hello")], policy, {"ANTHROPIC_BASE_URL": server.address}) as stage:
        await stage.submit("work")
        assert await over(stage) is AgentState.DONE
        taken = await stage.event(events.CredentialTaken)
        assert (taken.account, taken.before) == (f"file:{key}", f"login:{file.parent}")
        incidents = tmp_path / "state" / "incidents.jsonl"
        await until(lambda: "login_failed" in incidents.read_text() if incidents.exists() else False)
    assert server.calls[0]["authorization"] == f"Bearer {OLD}"
    assert server.calls[-1]["x-api-key"] == "sk-second"
    assert sum("authorization" in each for each in server.calls) <= 2, "the CLI met no refusal"
