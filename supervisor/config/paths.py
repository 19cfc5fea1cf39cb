"""The paths of state, runtime files and socket, and the creation of their directories."""

import errno
import os
import pwd
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from host.identity import is_apart, may, own_files
from monitors.contract.errors import ChaperonError

SOCKET_NAME = "chaperon.sock"

LONGEST_SOCKET_PATH = 107
"""Bytes that the path of a Unix socket may have: `sun_path` has 108, the last for the NUL (unix(7))."""

SYSTEM_RUNTIME = Path("/run/chaperon")
"""Below it the system service of each user has its runtime directory, named after the user."""


class PlaceError(ChaperonError):
    """A directory that chaperon needs cannot be used."""


@dataclass(frozen=True, slots=True)
class StatePaths:
    """The two directories, and what is in them."""

    state: Path
    """Data that must survive: journal, snapshot, incidents, agents, checkpoints."""
    runtime: Path
    """Data that ends with the login or the boot: the socket."""
    shared_tmp: bool = False
    """Whether the runtime directory lies in a place where any user could have made it first."""
    state_variable: str = field(default="XDG_STATE_HOME", compare=False)
    """The variable that has the state elsewhere, for errors: the one that counts, if it is set."""
    runtime_variable: str = field(default="XDG_RUNTIME_DIR", compare=False)
    """The same for the runtime directory."""
    base: Path | None = None
    """The directory that has the state of a daemon apart (`host.identity`) and what its agents reach; else None."""

    @property
    def chaperons(self) -> Path:
        """The directory that no agent may touch but for what it was given there."""
        return self.base or self.state

    @property
    def reached(self) -> Path:
        """The directory with what processes of agents reach by its path: their folders, sockets of the gateway."""
        return self.state if self.base is None else self.base / "reached"

    @property
    def copies(self) -> Path:
        """The directory with copies of programs, which the person's processes run, and cannot change if apart."""
        return self.state if self.base is None else self.base / "copies"

    @property
    def own_folders(self) -> Path:
        """One directory an agent, with that of its CLI's configuration."""
        return self.reached / "agents"

    @property
    def agent_sockets(self) -> Path:
        """One directory an agent, with its socket of the gateway."""
        return self.reached / "gateway"

    @property
    def socket(self) -> Path:
        """The socket that commands come in by."""
        return self.runtime / SOCKET_NAME

    @property
    def hooks_socket(self) -> Path:
        """The socket that hooks of attached CLIs come in by."""
        return self.runtime / "hooks.sock"

    @property
    def attached(self) -> Path:
        """The texts of settings files from before hooks came there, and the settings of the relay."""
        return self.state / "attached"

    @property
    def journal(self) -> Path:
        """The directory of the journal's segments."""
        return self.state / "journal"

    @property
    def snapshot(self) -> Path:
        """The snapshot that makes starting fast."""
        return self.state / "snapshot.json"

    @property
    def archive(self) -> Path:
        """The summaries of ended agents, on which the snapshot leans."""
        return self.state / "ended.jsonl"

    @property
    def policies(self) -> Path:
        """The policies that counted once, each under its digest, for replays."""
        return self.state / "policies"

    @property
    def programs(self) -> Path:
        """The list of trusted programs, and copies of them."""
        return self.state / "programs"

    @property
    def incident_log(self) -> Path:
        """One line an incident, made to be tailed."""
        return self.state / "incidents.jsonl"

    @property
    def forgetting(self) -> Path:
        """The note on an agent that is being forgotten."""
        return self.state / "forgetting.json"

    @property
    def checked_parts(self) -> Path:
        """The parts of the checked configuration that commands need by themselves."""
        return self.state / "checked.json"

    @property
    def agents(self) -> Path:
        """One directory an agent: shim log, exit record."""
        return self.state / "agents"

    @property
    def set_aside(self) -> Path:
        """The folder for agents' folders whose name is used again and that the journal does not know."""
        return self.state / "set-aside"

    @property
    def gateway(self) -> Path:
        """The folder of the gateway's sockets."""
        return self.state / "gateway"

    @property
    def checkpoints(self) -> Path:
        """The checkpoint store."""
        return self.state / "checkpoints"


CLOSED = "closed"
"""Below the directory of a daemon apart: may be entered by the group of its own user alone, and has the state."""


def places(environ: Mapping[str, str], uid: int) -> StatePaths:
    """Say where everything is, without looking at the disk.

    Args:
        environ: The process's environment.
        uid: Number of the user that it runs as.
    """
    state = first_of(environ.get("STATE_DIRECTORY"))
    runtime = first_of(environ.get("RUNTIME_DIRECTORY"))
    base = state if state is not None and is_apart() else None
    session = absolute(environ.get("XDG_RUNTIME_DIR"))
    if runtime is None and session is not None:
        runtime = session / "chaperon"
    return StatePaths(
        state=base / CLOSED / "state"
        if base
        else state or _xdg(environ, "XDG_STATE_HOME", ".local/state") / "chaperon",
        runtime=runtime or Path("/tmp") / f"chaperon-{uid}",  # noqa: S108  # its owner and mode are checked
        shared_tmp=runtime is None,
        state_variable="XDG_STATE_HOME" if state is None else "STATE_DIRECTORY",
        runtime_variable="RUNTIME_DIRECTORY" if first_of(environ.get("RUNTIME_DIRECTORY")) else "XDG_RUNTIME_DIR",
        base=base,
    )


def sockets_to_try(environ: Mapping[str, str], uid: int, user: str) -> tuple[Path, ...]:
    """Return the sockets on which a daemon of this user may listen.

    First its own service's socket, then that of the system service for the user.
    """
    return (places(environ, uid).socket, SYSTEM_RUNTIME / user / SOCKET_NAME)


def hosts(socket: Path, uid: int) -> frozenset[int]:
    """Return the users who may listen on a socket of this user's daemon: the user, root, and the owner of the folder.

    Another user's folder is only believed if not every user could have made it: one below `/tmp` may be a trap for our
    messages.

    Args:
        socket: Its path. Nothing needs to be there.
        uid: Number of the user who is about to connect.

    Raises:
        PlaceError: The folder is another user's in a place where every user can make one, or lets others put a socket
            into it.
    """
    folder, ours = socket.parent, frozenset({uid, 0})
    try:
        open_to_all = folder.parent.stat().st_mode & 0o022
        status = folder.lstat() if open_to_all else folder.stat()
    except OSError:  # then nobody can be reached there
        return ours
    if not open_to_all and status.st_uid not in ours and not status.st_mode & 0o002:  # its group is that user's affair
        return ours | {status.st_uid}
    wrong = ""
    if not stat.S_ISDIR(status.st_mode):
        wrong = "it is no directory"
    elif status.st_uid not in ours:
        wrong = f"it belongs to user {status.st_uid}, and this is user {uid}"
    elif status.st_mode & 0o022:
        wrong = f"its mode {stat.S_IMODE(status.st_mode):04o} lets others write into it (chmod 700 mends that)"
    if wrong:
        raise PlaceError(
            f"The directory {str(folder)!r} of the daemon's socket cannot be trusted: {wrong}. Nothing was sent.",
            way_out=_way_out("XDG_RUNTIME_DIR"),
        )
    return ours


def prepare(where: StatePaths, uid: int) -> None:
    """Make both directories, 0700, and check those that exist.

    Raises:
        PlaceError: One cannot be made or written, belongs to another user, or is open to others; or the socket's path
            is too long.
    """
    if len(os.fsencode(where.socket)) > LONGEST_SOCKET_PATH:
        raise PlaceError(
            f"The socket's path {str(where.socket)!r} is longer than the {LONGEST_SOCKET_PATH} bytes that a Unix socket may have.",
            way_out="Set XDG_RUNTIME_DIR, or RUNTIME_DIRECTORY, to a shorter path.",
        )
    if is_apart():
        _prepare_apart(where, uid)
    else:
        make_private(where.state, uid, where.state_variable)
        make_private(where.runtime, uid, where.runtime_variable, strict=where.shared_tmp)


def remake_runtime(where: StatePaths, uid: int) -> None:
    """Make the directory of the socket again if it is gone, with the checks of `prepare`; raises like it.

    That of a daemon apart is the service's, and cannot go.
    """
    if not is_apart():
        make_private(where.runtime, uid, where.runtime_variable, strict=where.shared_tmp)


def _prepare_apart(where: StatePaths, uid: int) -> None:
    """Close the state of a daemon apart, and check that the person's programs cannot open it, nor replace the socket.

    Raises:
        PlaceError: As `prepare`; or the service did not give both directories.
    """
    given = {"STATE_DIRECTORY": where.base, "RUNTIME_DIRECTORY": where.runtime}
    for variable, directory in given.items():
        status = directory.lstat() if directory is not None and directory.is_dir() else None
        if directory is None or status is None or variable == "RUNTIME_DIRECTORY" != where.runtime_variable:
            raise PlaceError(
                f"A daemon with a user apart from its agents' needs {variable}, a directory of its user's own.",
                way_out="Start it by the service chaperon-apart@, which gives it one.",
            )
        if (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) != (os.getuid(), os.getgid(), APART_MODE):
            raise PlaceError(
                f"The directory {str(directory)!r} belongs to user {status.st_uid} and group {status.st_gid} with mode "
                f"{stat.S_IMODE(status.st_mode):04o}. A daemon apart needs one of user {os.getuid()}, group {os.getgid()} "
                f"and mode {APART_MODE:04o}.",
                way_out=_way_out(variable),
            )
    closed = where.state.parent
    with own_files():
        entered = ((each, APART_MODE) for each in (where.reached, where.own_folders, where.agent_sockets))
        for directory, mode in ((closed, 0o770), (where.copies, 0o711), *entered):
            directory.mkdir(exist_ok=True)
            directory.chmod(mode)
    make_private(where.state, uid, where.state_variable)


APART_MODE = 0o771
"""Of the directories of a daemon apart: its own user and group make what is in them, and others enter."""


def make_private(directory: Path, uid: int, variable: str, *, strict: bool = False) -> None:
    """Make a directory, 0700, with those above it; check its owner and mode where it exists.

    Args:
        directory: Which.
        uid: Who must own it.
        variable: What the reader can set to have it elsewhere; for the error.
        strict: Whether others may not even read it.

    Raises:
        PlaceError: Where that cannot be.
    """
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700)
        # The umask can take away more than others' bits.
        directory.chmod(0o700)
    except FileExistsError:
        check_place(directory, uid, variable, strict=strict)
    except OSError as error:
        raise PlaceError(
            f"The directory {str(directory)!r} cannot be made: {_why(error)}.", way_out=_way_out(variable)
        ) from error


def check_place(directory: Path, uid: int, variable: str, *, strict: bool = False) -> None:
    """Check a directory's owner and mode, if it is there; arguments and error as for `make_private`."""
    try:
        status = directory.lstat()
        wrong = _objection(directory, status, uid, strict=strict)
    except FileNotFoundError:
        return
    except OSError as error:
        wrong = _why(error)
    if wrong:
        raise PlaceError(f"The directory {str(directory)!r} cannot be used: {wrong}.", way_out=_way_out(variable))


def _way_out(variable: str) -> str:
    return f"Mend that, or set {variable} to a directory of your own."


def _objection(directory: Path, status: os.stat_result, uid: int, *, strict: bool) -> str:
    if stat.S_ISLNK(status.st_mode) and not strict:
        status = directory.stat() if directory.exists() else status
    if not stat.S_ISDIR(status.st_mode):
        return "it is no directory"
    if status.st_uid != uid:
        return f"it belongs to user {status.st_uid}, and this is user {uid}"
    mode = stat.S_IMODE(status.st_mode)
    if mode & (0o077 if strict else 0o022):
        return f"its mode {mode:04o} lets others {'look' if strict else 'write'} into it (chmod 700 mends that)"
    if not may(directory, os.W_OK | os.X_OK):
        return "it cannot be written (read-only file system, or its mode)"
    return ""


def _why(error: OSError) -> str:
    what = error.strerror or str(error)
    if error.errno == errno.EROFS:
        return f"{what} ({error.filename})"
    return f"{what} at {error.filename!r}" if error.filename else what


def config_home(environ: Mapping[str, str]) -> Path:
    """Return the directory of the user's configuration files."""
    return _xdg(environ, "XDG_CONFIG_HOME", ".config")


def data_home(environ: Mapping[str, str]) -> Path:
    """Return the folder of a user's data."""
    return _xdg(environ, "XDG_DATA_HOME", ".local/share")


def home(environ: Mapping[str, str]) -> Path:
    """Return the user's home directory, from HOME, else from the user database.

    Raises:
        PlaceError: HOME is relative, so another one for each directory that a command is given in, or is nowhere.
    """
    given = environ.get("HOME")
    if given and not given.startswith("/"):
        raise PlaceError(
            f"HOME is {given!r}, which is no absolute path; nothing was read or written there.",
            way_out="Set HOME to an absolute path.",
        )
    if given:
        return Path(given)
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        raise PlaceError(
            f"HOME is not set, and user {os.geteuid()} is in no user database; nothing was read or written.",
            way_out="Set HOME to an absolute path.",
        ) from None


def first_of(text: str | None) -> Path | None:
    """Return the first absolute path of a list with colons; None if there is none.

    systemd writes STATE_DIRECTORY like that.
    """
    return absolute((text or "").partition(":")[0])


def absolute(text: str | None) -> Path | None:
    """Return a variable's path, None if it is unset or relative: the XDG specification has relative ones ignored."""
    return Path(text) if text and text.startswith("/") else None


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> Path:
    return absolute(environ.get(variable)) or home(environ) / default
