"""Agents as they are started without any setting, by a daemon that has a key: the real CLI is behind the gateway."""

from pathlib import Path

import pytest

from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say
from tests.stages.live import bash, live, make_repository
from tests.stages.walled import over

pytestmark = pytest.mark.real_cli

KEY = "sk-ant-planted-in-the-environment"


async def test_an_agent_of_a_daemon_with_a_key_and_a_dead_proxy_reaches_the_model_and_has_neither(
    tmp_path: Path,
) -> None:
    make_repository(tmp_path / "repo", {"README.md": "hello"})
    environ = {"ANTHROPIC_API_KEY": KEY, "HTTPS_PROXY": "http://127.0.0.1:9"}
    steps = bash("env > seen.txt"), Say("done")
    async with live(tmp_path, steps, {"agent": {"credential": ""}}, environ) as stage:
        await stage.submit("work")
        assert await over(stage) is AgentState.DONE
        [seen] = tmp_path.rglob("seen.txt")
        assert "ANTHROPIC_UNIX_SOCKET=" in seen.read_text()
        assert KEY not in seen.read_text()
        assert {request.headers["x-api-key"] for request in stage.model.requests} == {KEY}
