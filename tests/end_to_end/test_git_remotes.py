"""The real CLI pushes out of a sandbox to a remote with a login that it never has."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say
from supervisor.runtime.sandbox.entry import PROXY_PORT
from tests.stages.git_server import git_server
from tests.stages.live import bash, git_environment, live, make_repository
from tests.stages.walled import base_outside_of_tmp, needs, over

pytestmark = pytest.mark.real_cli


@pytest.fixture
def base(tmp_path: Path, kind: str) -> Iterator[Path]:
    """A folder for state and home: Landlock cannot hide them below /tmp."""
    if kind != "landlock":
        yield tmp_path
        return
    with base_outside_of_tmp() as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "profile"),
    [
        *(pytest.param("bubblewrap", each, marks=needs("bubblewrap")) for each in ("closed", "project", "open")),
        pytest.param("landlock", "project", marks=needs("landlock")),
    ],
)
async def test_an_agent_in_a_sandbox_pushes_to_a_named_remote_and_to_no_other_and_never_has_the_login(
    base: Path, kind: str, profile: str
) -> None:
    home = base / "home"
    home.mkdir(exist_ok=True)
    make_repository(base / "repo", {"a.txt": "a"})
    with git_server(base / "server", "team/project.git", "others/project.git") as server:
        (home / ".gitconfig").write_text("[credential]\n\thelper = store\n")
        (home / ".git-credentials").write_text(f"https://ann:planted-password@127.0.0.1:{server.port}\n")
        for name, path in (("origin", "team/project.git"), ("other", "others/project.git")):
            words = ["git", "-C", str(base / "repo"), "remote", "add", name, f"{server.address}/{path}"]
            subprocess.run(words, check=True, env=git_environment(home))
        policy = {
            "agent": {"sandbox": kind},
            "sandbox": {"profile": profile, "git_remotes": [f"{server.address}/team/"]},
        }
        asked = f"http://127.0.0.1:{PROXY_PORT}/chaperon-git/127.0.0.1:{server.port}/others/project.git"
        if profile != "closed":
            asked = f"chaperon::{server.address}/others/project.git"
        steps = (
            bash(
                "head -c 3000000 /dev/urandom > b.txt && git add b.txt && git commit -qm work && git push -q origin HEAD:work"
            ),
            bash("git push -q other HEAD:work"),
            bash(f"git ls-remote {asked} 2> refused.txt; true"),
            bash(
                "git -c http.extraHeader='X-Original-URL: /others' fetch -q origin && git log -1 --format=%s origin/work > got"
            ),
            bash("env > environment.txt"),
            Say("done"),
        )
        environ = {"SSL_CERT_FILE": str(server.certificate)}
        async with live(base, steps, policy, environ) as stage:
            await stage.submit("work")
            assert await over(stage) is AgentState.DONE
            assert server.log("team/project.git", "work").splitlines()[0] == "work"
            assert (stage.repo / "got").read_text() == "work\n"
            assert server.log("others/project.git", "work") == ""
            assert "is not among the remotes that agents may reach" in (stage.repo / "refused.txt").read_text()
            assert not any("others" in path for path in server.seen)
            assert "git-protocol" in server.headers
            assert "x-original-url" not in server.headers
            reached = await stage.event(events.HostReached)
            assert (reached.agent, reached.host) == ("a1", f"127.0.0.1:{server.port}")
            refused = await stage.event(events.FaultSeen, lambda seen: seen.incident.type == "request_refused")
            assert "others/project.git" in refused.incident.summary
            assert "GIT_CONFIG_VALUE_0" in (stage.repo / "environment.txt").read_text()
        secrets = b"planted-password", server.login.removeprefix("Basic ").encode()
        for folder in ("repo", "state"):
            for written in (each for each in (base / folder).rglob("*") if each.is_file()):
                assert not any(secret in written.read_bytes() for secret in secrets), written
