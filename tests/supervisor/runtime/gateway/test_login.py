"""The login of `claude`, refreshed in its file against an endpoint on loopback."""

import errno
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from host.durable import RealDisk
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.login import MOST_BYTES, Login, LoginError
from supervisor.runtime.gateway.login_locks import refreshing
from tests.stages.token_server import (
    NEW,
    NEW_REFRESH,
    OLD,
    OLD_REFRESH,
    ROTATED,
    TokenServer,
    login,
    token_server,
    write_login,
)


class Later(Clock):
    """A clock that is set forward."""

    by = 0.0

    def mono(self) -> float:
        return super().mono() + self.by


class BrokenDisk(RealDisk):
    """A disk on which one kind of call fails."""

    def __init__(self, fails: str) -> None:
        self.fails = fails

    def allocate(self, fd: int, size: int) -> None:
        if self.fails == "allocate":
            raise OSError(errno.ENOSPC, "No space left on device")
        super().allocate(fd, size)

    def rename(self, source: Path, target: Path) -> None:
        if self.fails == "rename":
            raise OSError(errno.EROFS, "Read-only file system")
        super().rename(source, target)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with token_server(tmp_path_factory.mktemp("server")) as made:
        yield made


class House:
    """A login that ends soon, its endpoint, and what was told of failures."""

    def __init__(self, folder: Path, server: TokenServer, expires_in: float = 60) -> None:
        server.asked.clear()
        server.answer, server.status, server.meanwhile = dict(ROTATED), 200, lambda: None
        self.server, self.clock = server, Later()
        self.file = folder / ".claude" / ".credentials.json"
        self.write(expires_in)
        self.told: list[str] = []

    def write(self, expires_in: float, **more: object) -> None:
        write_login(self.file, login(expires_in, Clock().wall(), **more))

    def login(self, disk: RealDisk | None = None) -> Login:
        told = lambda error: self.told.append(str(error))  # noqa: E731
        return Login(self.file, self.clock, self.server.refresh_url, told, disk or RealDisk())

    @property
    def known(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.file.read_text())["claudeAiOauth"]
        return found

    @property
    def left(self) -> set[str]:
        return {each.name for each in (*self.file.parent.iterdir(), *self.file.parent.parent.iterdir())} - {"home"}


@pytest.fixture
def house(tmp_path: Path, endpoint: TokenServer) -> House:
    return House(tmp_path, endpoint)


def test_a_token_in_force_is_used_and_nothing_is_asked(house: House) -> None:
    house.write(3_600)
    assert (house.login().token(), house.server.asked) == (OLD, [])


def test_a_token_that_is_about_to_end_is_refreshed_and_written_as_the_cli_writes_it(house: House) -> None:
    house.write(240, somethingNew={"a": 1})
    seen: list[set[str]] = []
    house.server.meanwhile = lambda: seen.append(house.left)
    assert house.login().token() == NEW
    (asked,) = house.server.asked
    assert (asked["refresh_token"], asked["scope"]) == (OLD_REFRESH, "user:inference user:profile")
    assert {".oauth_refresh.lock", ".claude.lock"} <= seen[0]
    assert house.left == {".claude", ".credentials.json"}
    assert json.loads(house.file.read_text())["mcpOAuth"] == {"kept": True}
    known = house.known
    assert abs(int(str(known.pop("expiresAt"))) / 1e3 - Clock().wall() - 28_800) < 60
    assert known == {
        "accessToken": NEW,
        "refreshToken": NEW_REFRESH,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
        "rateLimitTier": None,
        "somethingNew": {"a": 1},
    }
    assert house.file.stat().st_mode & 0o777 == 0o600
    assert house.login().token() == NEW
    assert len(house.server.asked) == 1


def test_what_an_answer_does_not_say_stays(house: House) -> None:
    house.write(60, refreshTokenExpiresAt=5_000)
    house.server.answer = {"access_token": NEW, "refresh_token_expires_in": 60}
    assert house.login().token() == NEW
    known = house.known
    assert (known["refreshToken"], known["scopes"]) == (OLD_REFRESH, ["user:inference", "user:profile"])
    assert known["refreshTokenExpiresAt"] == 5_000, "a login's own end is never put off"


def test_many_at_once_refresh_once(house: House) -> None:
    one, other = house.login(), house.login()
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda each: each.token(), [one, other] * 4))
    assert (set(tokens), len(house.server.asked)) == ({NEW}, 1)


def test_a_refresh_of_the_cli_is_waited_for_and_its_tokens_are_used(house: House) -> None:
    with ThreadPoolExecutor(1) as pool:
        with refreshing(house.file.parent, Clock()):
            token = pool.submit(house.login().token)
            house.write(28_800, accessToken=NEW, refreshToken=NEW_REFRESH)
        assert token.result() == NEW
    assert house.server.asked == []


def test_a_refresh_that_is_held_for_too_long_is_told(house: House) -> None:
    house.write(-1)

    class Fast(Later):
        def mono(self) -> float:
            self.by += 5
            return super().mono()

    house.clock = Fast()
    with refreshing(house.file.parent, Clock()), pytest.raises(LoginError, match="held by another program"):
        house.login().token()
    assert "held by another program" in house.told[0]


def test_with_a_full_disk_nothing_is_asked_and_the_token_is_used_to_its_end(house: House) -> None:
    assert house.login(BrokenDisk("allocate")).token() == OLD
    assert house.server.asked == []
    assert "No space left on device" in house.told[0]
    assert house.left == {".claude", ".credentials.json"}


def test_an_answer_that_cannot_be_written_is_used_told_and_written_as_soon_as_it_can(house: House) -> None:
    disk = BrokenDisk("rename")
    kept = house.login(disk)
    assert [kept.token(), kept.token()] == [NEW, NEW]
    assert (house.known["refreshToken"], len(house.server.asked)) == (OLD_REFRESH, 1)
    assert "could not be written" in house.told[0]
    disk.fails = ""
    assert kept.token() == NEW
    assert house.known["refreshToken"] == NEW_REFRESH
    assert kept.token() == NEW


def test_a_newer_login_of_the_person_stands_before_an_answer_that_could_not_be_written(house: House) -> None:
    disk = BrokenDisk("rename")
    kept = house.login(disk)
    kept.token()
    house.write(28_800, accessToken="sk-ant-oat01-third", refreshToken="sk-ant-ort01-third")
    disk.fails = ""
    assert kept.token() == "sk-ant-oat01-third"
    assert house.known["refreshToken"] == "sk-ant-ort01-third"


def test_a_newer_access_token_stands_before_one_that_could_not_be_written_of_the_same_refresh_token(
    house: House,
) -> None:
    house.server.answer = {name: value for name, value in ROTATED.items() if name != "refresh_token"}
    disk = BrokenDisk("rename")
    kept = house.login(disk)
    assert kept.token() == NEW
    house.write(28_800, accessToken="sk-ant-oat01-third")
    disk.fails = ""
    assert kept.token() == house.known["accessToken"] == "sk-ant-oat01-third"


@pytest.mark.parametrize("expires", [10**400, float("nan"), -float("inf"), True], ids=["huge", "nan", "inf", "true"])
def test_an_end_that_is_no_time_is_none(house: House, expires: float) -> None:
    house.write(0, expiresAt=expires)
    house.login().check()
    assert house.login().token() == OLD
    assert house.server.asked == []


def test_a_login_that_changed_while_the_answer_was_awaited_is_not_written_over(house: House) -> None:
    third = {"accessToken": "sk-ant-oat01-third", "refreshToken": "sk-ant-ort01-third"}
    house.server.meanwhile = lambda: house.write(28_800, **third)
    kept = house.login()
    kept.token()
    assert house.known["refreshToken"] == "sk-ant-ort01-third"
    assert kept.token() == "sk-ant-oat01-third"


def test_a_refresh_token_that_is_worth_nothing_is_asked_with_once_and_the_file_is_left(house: House) -> None:
    house.write(-1)
    house.server.status, house.server.answer = 400, {"error": "invalid_grant", "error_description": OLD_REFRESH}
    kept, before = house.login(), house.file.read_bytes()
    for _ in range(3):
        with pytest.raises(LoginError, match="400 invalid_grant") as refused:
            kept.token()
    assert "/login" in refused.value.way_out
    assert (len(house.server.asked), house.file.read_bytes()) == (1, before)
    assert len(house.told) == 1
    assert OLD_REFRESH not in house.told[0]
    house.write(-1, refreshToken="sk-ant-ort01-third")
    house.server.status, house.server.answer = 200, dict(ROTATED)
    house.clock.by += 11
    assert kept.token() == NEW, "the person has logged in again"


def test_an_endpoint_that_fails_is_asked_again_after_a_while(house: House) -> None:
    house.write(-1)
    house.server.status, house.server.answer = 529, {}
    kept = house.login()
    for _ in range(2):
        with pytest.raises(LoginError, match="could not be refreshed"):
            kept.token()
    assert len(house.server.asked) == 1
    house.server.status, house.server.answer = 200, dict(ROTATED)
    house.clock.by += 11
    assert kept.token() == NEW


def test_a_token_that_the_model_refuses_is_refreshed_and_one_that_is_refused_again_is_not(house: House) -> None:
    house.write(7_200)
    kept = house.login()
    assert kept.token() == OLD
    kept.refused(OLD)
    assert kept.token() == NEW
    kept.refused(NEW)
    with pytest.raises(LoginError, match="refreshed a moment ago"):
        kept.token()
    assert len(house.server.asked) == 1
    house.clock.by += 61
    house.server.answer = {**ROTATED, "access_token": "sk-ant-oat01-third"}
    assert kept.token() == "sk-ant-oat01-third"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no login of `claude` that could be read"),
        (b"[]", "no login of `claude` that could be read"),
        (b"[" * 100_000, "no login of `claude` that could be read"),
        (b" " * (MOST_BYTES + 1), "holds more than"),
        (b"{}", "is over"),
        (b'{"claudeAiOauth":{"accessToken":5,"refreshToken":[],"expiresAt":true,"scopes":7}}', "is over"),
        (b'{"claudeAiOauth":{"accessToken":"","refreshToken":"","expiresAt":0}}', "is over"),
    ],
)
def test_a_file_without_a_login_is_named(house: House, text: bytes, words: str) -> None:
    house.file.write_bytes(text)
    for act in (house.login().token, house.login().check):
        with pytest.raises(LoginError, match=words) as refused:
            act()
        assert "/login" in refused.value.way_out
    assert house.server.asked == []


def test_a_file_that_others_can_read_or_that_is_none_is_not_used(house: House) -> None:
    house.file.chmod(0o640)
    with pytest.raises(LoginError, match="mode 0640"):
        house.login().token()
    house.file.unlink()
    with pytest.raises(LoginError, match="There is no login"):
        house.login().token()
    os.mkfifo(house.file, 0o600)
    with pytest.raises(LoginError, match="no plain file"):
        house.login().token()


def test_a_file_that_is_a_link_stays_one(house: House) -> None:
    real = house.file.rename(house.file.parent.parent / "real.json")
    house.file.symlink_to(real)
    assert house.login().token() == NEW
    assert house.file.is_symlink()
    assert json.loads(real.read_text())["claudeAiOauth"]["accessToken"] == NEW


def test_a_look_asks_nothing_and_takes_one_that_can_be_refreshed(house: House) -> None:
    house.write(-1)
    house.login().check()
    assert house.server.asked == []
