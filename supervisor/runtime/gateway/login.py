"""The login of `claude`: read from the CLI's own file, refreshed before its end, and written as the CLI does. Blocks.

A refresh may replace the refresh token, and the one before is worth nothing then: room for the new file is taken before
anything is asked, the answer is on the disk before it is used, and what is written is what the file holds by then, read
under the locks that the CLI takes too.
"""

import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

from host.durable import REAL_DISK, Disk, write_all
from host.plain_files import read_plain
from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.login_locks import POLL_SECONDS, Held, LockHeldError, refreshing, writing
from supervisor.runtime.gateway.outbound import DIRECT, Outbound
from supervisor.runtime.gateway.token_endpoint import TokenAnswer, TokenRefusedError, refresh
from supervisor.runtime.log import log

FILE = ".credentials.json"
"""Name of the login's file in the CLI's folder, on Linux."""

EARLY_SECONDS = 300.0
"""How long before its end a token is replaced, as the CLI does (`r+300000>=e`)."""

REFUSED_SECONDS = 60.0
"""How long after a refresh no other is asked for because the model refuses the token: it is the account, then."""

AGAIN_SECONDS = 10.0
"""How long after a refresh that failed no other is tried, as the CLI does; a call of the model waits for each."""

LOCKED_SECONDS = 20.0
"""How long a refresh by another program is waited for; the CLI gives its own request 30 s, and they take 0.3 s."""

ROOM_BYTES = 16_384
"""Room that is taken for the answer beside the file as it is: its tokens have some hundred bytes."""

MOST_BYTES = 1_048_576
"""Most of a login's file that is read; one has 500 bytes, and those of MCP servers beside it some thousand each."""

LATEST_MILLISECONDS = 1e15
"""No login ends after that, in the year 33658; a larger number is none that could be reckoned with."""

LOG_IN = "Log in again, outside of the sandbox: run `claude` and say /login. It is taken from there at once."


class LoginError(ChaperonError):
    """The login of `claude` cannot be used."""


@dataclass(frozen=True, slots=True)
class LoginTokens:
    """A login, as its file has it."""

    access: str
    refresh: str
    expires: float | None
    """In Unix seconds; None if that is not said."""
    scopes: tuple[str, ...] = ()
    client: str = ""
    """The program that it was given to; empty for the CLI."""
    subscription: str = ""
    """Example: `max`."""
    tier: str = ""
    """The tier of its limits."""

    @classmethod
    def of(cls, text: bytes) -> "LoginTokens":
        """Read the file; what is no login has no tokens.

        Raises:
            ValueError: It is no JSON object.
        """
        try:
            whole = json.loads(text)
        except RecursionError:
            raise ValueError("too deep") from None
        if not isinstance(whole, dict):
            raise ValueError("no object")  # noqa: TRY004 - what it has, and not what it is
        found = whole.get("claudeAiOauth")
        known: Mapping[str, Any] = found if isinstance(found, dict) else {}
        words = {name: value if isinstance(value := known.get(name), str) else "" for name in _WORDS}
        scopes, expires = known.get("scopes"), known.get("expiresAt")
        return cls(
            words["accessToken"],
            words["refreshToken"],
            expires / 1_000 if _is_number(expires) and abs(expires) < LATEST_MILLISECONDS else None,
            tuple(str(each) for each in scopes) if isinstance(scopes, list) else (),
            words["clientId"],
            words["subscriptionType"],
            words["rateLimitTier"],
        )

    def ends_within(self, seconds: float, now: float) -> bool:
        """Whether the access token ends within these seconds."""
        return self.expires is not None and now + seconds >= self.expires


_WORDS = ("accessToken", "refreshToken", "clientId", "subscriptionType", "rateLimitTier")


class Login:
    """The login in one file. May be used by several threads: one refreshes, and the others wait for it.

    Args:
        path: The file.
        clock: The time.
        url: The address that refreshes it.
        failed: Told of a refresh that failed.
        disk: The disk.
        way: The way to that address.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        url: str,
        failed: Callable[[LoginError], object] = lambda _: None,
        disk: Disk = REAL_DISK,
        way: Outbound = DIRECT,
    ) -> None:
        self._path = path
        self._clock = clock
        self._url = url
        self._failed = failed
        self._disk = disk
        self._way = way
        self._one = threading.Lock()
        self._refused = ""
        """An access token that the model refused."""
        self._ended: tuple[str, str] | None = None
        """A refresh token that is worth nothing any more, and why."""
        self._again_at = 0.0
        self._renewed_at: float | None = None
        self._unsaved: tuple[LoginTokens, TokenAnswer] | None = None
        """An answer that could not be written, and the login that it replaces."""

    def token(self) -> str:
        """Return an access token, refreshed if the one of the file is about to end or was refused.

        Raises:
            LoginError: There is none that could be used.
        """
        with self._one:
            known = self._known()
            if known.access and known.access != self._refused and not self._ends(known, EARLY_SECONDS):
                return known.access
            try:
                return self._refreshed(known).access
            except LoginError as error:
                if not known.access or known.access == self._refused or self._ends(known, 0.0):
                    raise
                log.warning("the login of claude: %s It is used for the rest of its time.", error)
                return known.access

    def check(self) -> None:
        """Look whether there is a login that is in force or can be refreshed; nothing is asked or written.

        Raises:
            LoginError: There is none.
        """
        known = self._read()
        if not known.refresh and (not known.access or self._ends(known, 0.0)):
            raise self._over()

    def refused(self, token: str) -> None:
        """Take note that the model refused an access token: the next one is another."""
        self._refused = token

    # ── its file ──

    def _known(self) -> LoginTokens:
        """Return the login as it is; an answer that could not be written yet is written now, or kept here."""
        known = self._read()
        if self._unsaved is None:
            return known
        before, answer = self._unsaved
        if (known.refresh, known.access) != (before.refresh, before.access):  # another program wrote a newer one
            self._unsaved = None
            return known
        with suppress(OSError, ValueError, LockHeldError):
            self._save(before.refresh, answer)
            self._unsaved = None
        return _renewed(known, answer)

    def _read(self) -> LoginTokens:
        try:
            status = self._path.stat()
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and status.st_uid == os.geteuid():
                raise LoginError(
                    f"The login in {self._path} can be read by others (mode {stat.S_IMODE(status.st_mode):04o}); it is not used.",
                    way_out=f"chmod 600 {self._path}, and log in again if others have used this machine.",
                )
            return LoginTokens.of(read_plain(self._path, MOST_BYTES))
        except FileNotFoundError:
            raise LoginError(f"There is no login of `claude` in {self._path}.", way_out=LOG_IN) from None
        except OSError as error:
            raise LoginError(
                f"The login of `claude` cannot be read from {self._path}: {error.strerror}.", way_out=LOG_IN
            ) from error
        except ValueError:
            raise LoginError(
                f"{self._path} has no login of `claude` that could be read: JSON of some hundred bytes is expected.",
                way_out=LOG_IN,
            ) from None

    def _ends(self, known: LoginTokens, seconds: float) -> bool:
        return known.ends_within(seconds, self._clock.wall())

    # ── refreshing it ──

    def _refreshed(self, known: LoginTokens) -> LoginTokens:
        """Return the login with another access token than this, by us or by another program.

        Raises:
            LoginError: It cannot be refreshed.
        """
        if not known.refresh:
            raise self._over()
        if self._ended is not None and self._ended[0] == known.refresh:
            raise LoginError(self._ended[1], way_out=LOG_IN)
        now = self._clock.mono()
        if known.access == self._refused and self._renewed_at is not None and now < self._renewed_at + REFUSED_SECONDS:
            raise LoginError(
                "The model refuses the login of `claude`, which was refreshed a moment ago.", way_out=LOG_IN
            )
        if now < self._again_at:
            raise LoginError(
                "The login of `claude` could not be refreshed a moment ago, and is not tried again yet.",
                way_out="Wait some seconds.",
            )
        try:
            return self._refreshed_under_lock(known)
        except LoginError as error:
            self._again_at = self._clock.mono() + AGAIN_SECONDS
            self._failed(error)
            raise
        except OSError as error:
            self._again_at = self._clock.mono() + AGAIN_SECONDS
            failed = LoginError(
                f"The login of `claude` in {self._path} was not refreshed: {error.strerror or error}. Nothing was sent.",
                way_out=f"Mend {self._path.parent}: the CLI could not refresh the login there either.",
            )
            self._failed(failed)
            raise failed from error

    def _refreshed_under_lock(self, known: LoginTokens) -> LoginTokens:
        until = self._clock.mono() + LOCKED_SECONDS
        while True:
            try:
                with refreshing(self._path.parent, self._clock) as held:
                    now = self._read()
                    if now.access != known.access:
                        return now
                    return self._ask(now, held)
            except LockHeldError as error:
                now = self._read()
                if now.access != known.access:
                    return now
                if self._clock.mono() > until:
                    raise LoginError(
                        f"The login of `claude` could not be refreshed: {error} was held by another program for {LOCKED_SECONDS:g} s.",
                        way_out="A `claude` that stands still may hold it: end that, or wait a minute.",
                    ) from None
                time.sleep(POLL_SECONDS)

    def _ask(self, known: LoginTokens, held: Held) -> LoginTokens:
        """Ask for other tokens, write them, and return them; the locks are held."""
        if not known.refresh:
            raise self._over()
        with self._room() as publish:
            if not held.is_ours:
                raise LoginError("The lock of the login was taken over by another program; nothing was asked.")
            try:
                answer = refresh(self._url, known.refresh, known.scopes, known.client, self._clock.wall(), self._way)
            except TokenRefusedError as error:
                failed = LoginError(
                    f"The login of `claude` in {self._path} could not be refreshed: {error}.", way_out=LOG_IN
                )
                if error.is_final:
                    self._ended = known.refresh, failed.what
                else:
                    failed = LoginError(failed.what, way_out=f"It is tried again; see whether {self._url} is reached.")
                raise failed from None
            try:
                self._save(known.refresh, answer, publish)
            except (OSError, ValueError, LockHeldError) as error:
                self._unsaved = known, answer
                what = f"The login of `claude` was refreshed, and {self._path} could not be written: {error}."
                way_out = (
                    "Mend that before this daemon's gateway ends: the file's own refresh token is worth nothing now."
                )
                self._failed(LoginError(what, way_out=way_out))
            self._renewed_at = self._clock.mono()
            log.info("the login of claude was refreshed")
            return _renewed(known, answer)

    def _save(self, before: str, answer: TokenAnswer, publish: Callable[[bytes], None] | None = None) -> None:
        """Write an answer durably, unless the file has newer tokens by now than those that it replaces."""
        with writing(self._path.parent, self._clock):
            whole = json.loads(read_plain(self._path, MOST_BYTES))
            known = whole.get("claudeAiOauth") if isinstance(whole, dict) else None
            if not isinstance(known, dict) or known.get("refreshToken") not in (before, ""):
                return
            written = {**whole, "claudeAiOauth": {**known, **_fields(known, answer)}}
            data = json.dumps(written, separators=(",", ":")).encode()
            if publish is not None:
                publish(data)
                return
            with self._room() as found:
                found(data)

    @contextmanager
    def _room(self) -> Iterator[Callable[[bytes], None]]:
        """Take the room for another content of the file; what is entered makes that content the file's, durably."""
        path = self._path.resolve()  # a person's file may be a link
        temporary = path.with_name(f"{path.name}.tmp.{secrets.token_hex(4)}")
        fd = self._disk.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._disk.allocate(fd, path.stat().st_size + ROOM_BYTES)
            self._disk.sync(fd)

            def publish(data: bytes) -> None:
                write_all(fd, data, disk=self._disk)
                self._disk.truncate(fd, len(data))
                self._disk.sync(fd)
                self._disk.rename(temporary, path)
                self._disk.sync_directory(path.parent)

            yield publish
        finally:
            self._disk.close(fd)
            with suppress(OSError):
                self._disk.unlink(temporary)

    def _over(self) -> LoginError:
        return LoginError(f"The login of `claude` in {self._path} is over: it has no refresh token.", way_out=LOG_IN)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _renewed(known: LoginTokens, answer: TokenAnswer) -> LoginTokens:
    return replace(known, access=answer.access, refresh=answer.refresh or known.refresh, expires=answer.expires)


def _fields(known: Mapping[str, Any], answer: TokenAnswer) -> dict[str, Any]:
    """Return what changes in the file, in the CLI's own form."""
    fields: dict[str, Any] = {"accessToken": answer.access, "expiresAt": int(answer.expires * 1_000)}
    if answer.refresh or known.get("refreshToken"):
        fields["refreshToken"] = answer.refresh or known["refreshToken"]
    if answer.scopes:
        fields["scopes"] = list(answer.scopes)
    ends = known.get("refreshTokenExpiresAt")
    if answer.refresh_expires is not None and _is_number(ends):
        fields["refreshTokenExpiresAt"] = min(ends, int(answer.refresh_expires * 1_000))
    return fields
