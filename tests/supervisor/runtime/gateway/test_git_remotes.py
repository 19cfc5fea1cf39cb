"""Remotes of git by the gateway: which requests go through, with whose login."""

import os
from pathlib import Path

import pytest

from supervisor.config.sections.sandbox import SandboxSection
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import CredentialError
from supervisor.runtime.gateway.git_remotes import GitLogins, GitRemoteError, request_of, rewritten

REMOTES = ("https://git.example/team/", "https://other.example:8443/one.git")


@pytest.mark.parametrize(
    ("method", "target", "remote"),
    [
        ("GET", "git.example/team/a.git/info/refs?service=git-receive-pack", "https://git.example/team/a.git"),
        ("POST", "git.example/team/deep/a/git-upload-pack", "https://git.example/team/deep/a"),
        ("POST", "other.example:8443/one.git/git-receive-pack", "https://other.example:8443/one.git"),
    ],
)
def test_what_git_asks_of_a_named_remote_is_forwarded_to_it(method: str, target: str, remote: str) -> None:
    asked = request_of(f"/chaperon-git/{target}", method, REMOTES)
    assert asked.remote == remote
    assert f"https://{asked.host}{asked.path}".startswith(remote)
    assert asked.path.endswith(target.partition("/")[2])


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "git.example/team.git/info/refs?service=git-receive-pack"),
        ("GET", "git.example/teamwork/a.git/info/refs?service=git-receive-pack"),
        ("GET", "evil.example/team/a.git/info/refs?service=git-receive-pack"),
        ("GET", "git.example:444/team/a.git/info/refs?service=git-receive-pack"),
        ("GET", "user@git.example/team/a.git/info/refs?service=git-receive-pack"),
        ("GET", "git.example/team/../other/a.git/info/refs?service=git-receive-pack"),
        ("GET", "git.example/team/%2e%2e/a.git/info/refs?service=git-receive-pack"),
        ("GET", "git.example/team//a.git/info/refs?service=git-receive-pack"),
        ("GET", "git.example/team/a.git/info/refs?service=git-receive-pack&x=1"),
        ("GET", "git.example/team/a.git/info/refs"),
        ("GET", "git.example/team/a.git/settings"),
        ("DELETE", "git.example/team/a.git/git-receive-pack"),
        ("GET", "git.example/team/a.git/git-receive-pack"),
        ("POST", "git.example/team/a.git/info/refs?service=git-receive-pack"),
        ("POST", "git.example/team/a\npassword=x/git-upload-pack"),
        ("POST", "other.example:8443/one.git.d/git-receive-pack"),
    ],
)
def test_anything_else_is_refused(method: str, target: str) -> None:
    with pytest.raises(GitRemoteError, match=r"no request of git's|not among the remotes"):
        request_of(f"/chaperon-git/{target}", method, REMOTES)


def test_git_is_led_by_variables_that_leave_what_is_there() -> None:
    made = rewritten(REMOTES, "http://127.0.0.1:3128", {"GIT_CONFIG_COUNT": "1"})
    assert made["GIT_CONFIG_COUNT"] == "3"
    assert made["GIT_CONFIG_KEY_1"] == "url.http://127.0.0.1:3128/chaperon-git/git.example/team/.insteadOf"
    assert made["GIT_CONFIG_VALUE_2"] == REMOTES[1]
    assert rewritten((), "http://127.0.0.1:3128", {}) == {}


@pytest.mark.parametrize(
    "text",
    ["http://git.example/a", "https://u:p@git.example/a", "https://git.example/a/../b", "git@x:a", "https://x:65536/a"],
)
def test_a_remote_of_the_configuration_is_an_address_of_https_without_a_login(text: str) -> None:
    with pytest.raises(ValueError, match="is no remote"):
        SandboxSection(git_remotes=(text,))
    assert SandboxSection(git_remotes=REMOTES).git_remotes == REMOTES


class Later(Clock):
    seconds = 1.0

    def mono(self) -> float:
        return self.seconds


def test_the_persons_helpers_are_asked_and_asked_again_once_an_answer_is_old_or_was_refused(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[credential]\n\thelper = store\n")
    store = tmp_path / ".git-credentials"
    store.write_text("https://ann:first@git.example\n")
    environ, clock = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}, Later()
    logins, remote = GitLogins(environ, clock), "https://git.example/team/a.git"
    assert logins.header(remote) == "Basic YW5uOmZpcnN0"
    store.write_text("https://ann:second@git.example\n")
    assert logins.header(remote) == "Basic YW5uOmZpcnN0"
    logins.refused(remote)
    assert logins.header(remote) == "Basic YW5uOnNlY29uZA=="
    store.write_text("")
    assert logins.header(remote) == "Basic YW5uOnNlY29uZA=="
    clock.seconds += 301
    with pytest.raises(CredentialError, match="No credential helper of git has a login"):
        logins.header(remote)


def test_helpers_without_a_login_are_not_asked_for_it_again_at_once(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text(
        f'[credential]\n\thelper = "!echo >> {tmp_path}/asked; cat {tmp_path}/login #"\n'
    )
    environ, clock = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}, Later()
    logins, remote = GitLogins(environ, clock), "https://git.example/team/a.git"
    for _ in range(3):
        with pytest.raises(CredentialError, match="No credential helper of git has a login"):
            logins.header(remote)
    asked = tmp_path / "asked"
    assert len(asked.read_text()) == 1
    (tmp_path / "login").write_text("username=ann\npassword=first\n")
    clock.seconds += 16
    assert logins.header(remote) == "Basic YW5uOmZpcnN0"
    for number in range(2_100):
        logins._failed[f"https://git.example/{number}"] = CredentialError("none"), clock.seconds
    (tmp_path / "login").unlink()
    with pytest.raises(CredentialError):
        logins.header("https://git.example/team/b.git")
    assert len(logins._failed) == 1, "an agent's paths do not fill the gateway"
