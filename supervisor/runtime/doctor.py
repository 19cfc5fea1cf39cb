"""Checks of this machine, with the way to mend each fault: a list of small checks, each of one thing."""

import os
import platform
import pwd
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from checkpoints.git import git_command
from checkpoints.workspace.notes import try_watching
from host import unix_sockets
from host.children import ChildCommand, run_child
from host.identity import may
from monitors.contract.errors import ChaperonError
from supervisor import __version__
from supervisor.config.paths import SYSTEM_RUNTIME, check_place, hosts, places
from supervisor.protocol.words import VERSION_HEADER
from supervisor.runtime.processes.bounds.cgroups import CONTROLLERS, is_delegated, own_group
from supervisor.runtime.shim.credentials import stranger

if TYPE_CHECKING:  # what checks need is imported by each, since the first is to be told at once
    from supervisor.config.load import Loaded
    from supervisor.config.model import Config
    from supervisor.config.sections.sandbox import SandboxInForce
    from supervisor.runtime.assembly.trusted_programs import TrustedPrograms
    from supervisor.runtime.sandbox.machine import Facility

OLDEST_PYTHON = (3, 11)
"""As in pyproject.toml."""

OLDEST_GIT = (2, 31)
"""From it on GIT_CONFIG_COUNT sets options for one call, so that the user's own configuration stays untouched."""

LEAST_FREE_BYTES = 1024**3
"""Free space below which a disk is called full: checkpoints of one large repository take some hundred megabytes."""

LEAST_WATCHES = 65_536
"""inotify watches of one user. One is needed for each directory of a workspace; a web project with its dependencies
has some ten thousand. Kernels before 5.11 allow 8,192."""

ANSWER_SECONDS = 10.0
"""How long a program that is asked may take."""

MOST_ANSWER = 10_000
"""Bytes of its answer that are read; it has one word."""


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The finding of one check."""

    name: str
    """The subject of the check, in a word or two."""
    ok: bool | None
    """True: fine. False: chaperon does not work so. None: it works, with less."""
    says: str
    """The finding, with values."""
    mend: str = ""
    """The remedy for the reader; empty if none is needed."""


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """Inputs of checks."""

    environ: Mapping[str, str]
    """The process's environment."""
    uid: int
    user: str
    """The user's name."""
    config_file: Path | None = None
    """The file named by `--config`."""
    proc: Path = Path("/proc")
    lingering: Path = Path("/var/lib/systemd/linger")

    def loaded(self) -> "Loaded":
        """Read the configuration.

        Raises:
            ConfigError: If it is refused.
        """
        from supervisor.config.load import load

        return load(self.environ, self.config_file)

    def config(self) -> "Config":
        """Return the configuration, or the defaults if it is refused: the other checks go on."""
        from supervisor.config.model import Config

        try:
            return self.loaded().config
        except ChaperonError:
            return Config()

    def programs(self) -> "TrustedPrograms":
        """The programs that a person trusts."""
        from supervisor.runtime.assembly.trusted_programs import TrustedPrograms

        return TrustedPrograms(places(self.environ, os.geteuid()).programs)


class SpokenForError(ChaperonError):
    """Somebody else listens where the daemon would."""


Check = Callable[[DoctorContext], DoctorFinding]


def python(_: DoctorContext) -> DoctorFinding:
    """Whether this Python is new enough."""
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return DoctorFinding("python", True, found)
    least = ".".join(map(str, OLDEST_PYTHON))
    return DoctorFinding("python", False, found, f"Install chaperon for Python {least} or newer.")


def package(_: DoctorContext) -> DoctorFinding:
    """Whether the package `supervisor` is ours alone."""
    if trouble := foreign():
        return DoctorFinding("package", False, trouble)
    return DoctorFinding("package", True, "no other distribution owns the package 'supervisor'")


def configuration(around: DoctorContext) -> DoctorFinding:
    """Whether the configuration is valid, and all that it names is there."""
    from supervisor.config.load import ConfigSource
    from supervisor.runtime.preflight import try_out

    loaded = around.loaded()
    places_read = " and no ".join(map(str, ConfigSource(around.environ, around.config_file).files()))
    found = ", ".join(loaded.sources) or f"the defaults; there is no {places_read}"
    try:
        around.programs().refuse_changed_plugins(loaded.config)
    except ChaperonError as error:
        return DoctorFinding("configuration", False, f"{found}\n{error.what}", error.way_out)
    flaws = try_out(loaded, around.environ)
    if not flaws:
        return DoctorFinding("configuration", True, found)
    ok = None if all(flaw.harmless for flaw in flaws) else False
    return DoctorFinding("configuration", ok, "\n".join([found, *map(str, flaws)]))


def programs(around: DoctorContext) -> DoctorFinding:
    """Whether the programs and the code that the configuration names are those that a person trusted."""
    changed = around.programs().changed(around.config())
    if not changed:
        return DoctorFinding("programs", True, "what the configuration names is as a person trusted it")
    lines = [f"{one.key} is {one.now} and was {one.trusted}" for one in changed]
    says = "\n".join(["not run, since it changed after a person trusted it:", *lines])
    way_out = "To look, and to let it run: chaperon trust --programs, and the same with --accept."
    return DoctorFinding("programs", False, says, way_out)


def claude(around: DoctorContext) -> DoctorFinding:
    """Whether there is a Claude CLI that can be used."""
    from supervisor.config.environment import agent_environment
    from supervisor.runtime.processes.find_cli import MEASURED, find_cli

    agent = around.config().agent
    cli = find_cli(agent.command, agent_environment(around.environ, agent.environment))
    found = f"{cli.version_text} at {cli.path} (from {cli.source})"
    if cli.version < MEASURED:
        measured = ".".join(map(str, MEASURED))
        return DoctorFinding("claude", True, f"{found}; older than {measured}, which chaperon was measured with")
    return DoctorFinding("claude", True, found)


def git(around: DoctorContext) -> DoctorFinding:
    """Whether there is a git for workspaces and checkpoints."""
    path, answer = git_command.version(around.environ.get("PATH", os.defpath))
    found = re.search(r"(\d+)\.(\d+)\S*", answer)
    mend = f"Install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer."
    if path is None or found is None:
        return DoctorFinding("git", False, f"{path} gave no version" if path else "no `git` on PATH", mend)
    ok = (int(found[1]), int(found[2])) >= OLDEST_GIT
    return DoctorFinding("git", ok, f"{found[0]} at {path}", "" if ok else mend)


def containment(around: DoctorContext) -> DoctorFinding:
    """Whether agents can be frozen, ended and limited as a whole."""
    group = own_group(*(Path(around.proc, "self", name).read_text() for name in ("mountinfo", "cgroup")))
    mend = "Run chaperon as the systemd service it brings, or by `systemd-run --user --scope -p Delegate=yes`."
    if group is None:
        return DoctorFinding("containment", None, "no cgroup v2 tree; agents are held by walking their processes")
    if not is_delegated(group):
        says = f"{group} is not delegated to a daemon started here; agents are held by walking their processes"
        return DoctorFinding("containment", None, says, mend)
    controllers = (group / "cgroup.controllers").read_text().split()
    missing = [name for name in CONTROLLERS if name not in controllers]
    if missing:
        says = f"cgroup v2 at {group}; no {', '.join(missing)}, so limits are watched and not enforced"
        return DoctorFinding("containment", None, says, mend)
    return DoctorFinding("containment", True, f"cgroup v2 at {group}, with {', '.join(controllers)}")


def sandbox(around: DoctorContext) -> DoctorFinding:
    """Whether agents get the sandbox that is asked for, and which is the strongest here."""
    from supervisor.runtime.assembly.settings import sandboxes

    def in_force(config: "Config") -> "tuple[SandboxInForce, Facility]":
        return sandboxes(config, places(around.environ, around.uid), around.environ).in_force()

    config = around.config()
    kind, facility = in_force(config)
    if kind != "none":
        profile = config.sandbox.profile
        return DoctorFinding("sandbox", True, f"{kind}, profile {profile}: {facility.says}")
    try:
        strongest, there = in_force(
            config.model_copy(update={"agent": config.agent.model_copy(update={"sandbox": "auto"})})
        )
    except ChaperonError as error:
        says = f"none, so agents are held by review alone; {error.what}"
        return DoctorFinding("sandbox", None, says.replace(" Nothing was started.", ""), error.way_out)
    says = f"none, so agents are held by review alone; {strongest} would work here ({there.says})"
    return DoctorFinding("sandbox", None, says, f"Set agent.sandbox to {strongest}, or to auto.")


def state_directory(around: DoctorContext) -> DoctorFinding:
    """Whether state can be written, and to a disk with room."""
    where = places(around.environ, around.uid)
    check_place(where.state, around.uid, where.state_variable)
    existing = next(path for path in (where.state, *where.state.parents) if path.exists())
    if not may(existing, os.W_OK | os.X_OK):
        return DoctorFinding(
            "state",
            False,
            f"{where.state} cannot be made: {existing} cannot be written",
            f"Set {where.state_variable} to a directory that can be written.",
        )
    disk = os.statvfs(existing)
    free = disk.f_bavail * disk.f_frsize
    found = f"{where.state}, {free / 1024**3:.1f} GiB free"
    if free < LEAST_FREE_BYTES:
        return DoctorFinding(
            "state", False, found, "Make room: a full disk stops the journal, and with it every agent."
        )
    if disk.f_files and not disk.f_favail:
        return DoctorFinding("state", False, f"{found}, but no inode", "Delete files: no new one can be made.")
    return DoctorFinding("state", True, found)


def daemon(around: DoctorContext) -> DoctorFinding:
    """Whether a daemon answers, and whether one could listen."""
    where = places(around.environ, around.uid)
    service = SYSTEM_RUNTIME / around.user / where.socket.name
    for path in (where.socket, service):
        if answers(path, hosts(path, around.uid)):
            return _answering(path)
    check_place(where.runtime, around.uid, where.runtime_variable, strict=where.shared_tmp)
    if where.socket.exists():
        says = f"none answers; {where.socket} was left by one that died"
        return DoctorFinding(
            "daemon", None, says, "Start it with `chaperon serve`: it takes the socket over, and the agents with it."
        )
    return DoctorFinding(
        "daemon", None, f"none runs; it would listen at {where.socket}", "Start it with `chaperon serve`."
    )


def _answering(path: Path) -> DoctorFinding:
    """Report the version of the daemon that answers."""
    version = version_at(path)
    if version == __version__:
        return DoctorFinding("daemon", True, f"one answers at {path}, of this version ({version}){_apart(path)}")
    theirs = f"version {version}" if version else "a version that does not say which it is"
    says = f"one answers at {path}, of {theirs}, and this is {__version__}"
    return DoctorFinding(
        "daemon", None, says, "Restart it, or end it and say `chaperon serve`: agents live on meanwhile."
    )


def _apart(path: Path) -> str:
    """Say as which user a daemon keeps apart from its agents, as the owner of its folder tells."""
    try:
        owner = path.parent.stat().st_uid
        name = pwd.getpwuid(owner).pw_name
    except (OSError, KeyError):
        return ""
    return f", as user {name}, apart from its agents" if owner not in (0, os.geteuid()) else ""


def version_at(path: Path) -> str:
    """The version of the daemon that answers at a socket; empty if it does not say."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        try:
            unix_sockets.connect(channel, str(path), ANSWER_SECONDS)
            channel.sendall(b"GET /v1/health HTTP/1.1\r\nHost: chaperon\r\nConnection: close\r\n\r\n")
            head = channel.recv(4096)
        except OSError:
            return ""
    found = re.search(rb"(?im)^%s: *([0-9A-Za-z.+-]{1,40})\r?$" % VERSION_HEADER.encode(), head)
    return found[1].decode() if found else ""


def answers(path: Path, trusted: frozenset[int]) -> bool:
    """Whether a daemon accepts connections at a socket.

    Raises:
        SpokenForError: Somebody does whom this user may not trust.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        try:
            unix_sockets.connect(channel, str(path), 1)
        except OSError:
            return False
        if why := stranger(channel, trusted):
            raise SpokenForError(
                f"{path} is not a daemon's of yours: {why}", way_out="Set XDG_RUNTIME_DIR to a directory of your own."
            )
    return True


def watches(around: DoctorContext) -> DoctorFinding:
    """Whether the kernel lets us watch workspaces, large ones too."""
    if refused := try_watching():
        return DoctorFinding("watches", None, refused)
    try:
        allowed = int((around.proc / "sys/fs/inotify/max_user_watches").read_text())
    except (OSError, ValueError):
        return DoctorFinding("watches", None, "the kernel does not say how many files may be watched")
    if allowed >= LEAST_WATCHES:
        return DoctorFinding("watches", True, f"{allowed:,} directories may be watched")
    return DoctorFinding(
        "watches",
        None,
        f"only {allowed:,} directories may be watched; changes in large workspaces are then seen late",
        f"As root: sysctl fs.inotify.max_user_watches={LEAST_WATCHES * 8}, and the same in a file below /etc/sysctl.d.",
    )


def attached(around: DoctorContext) -> DoctorFinding:
    """How the settings files that hooks were put into reach the daemon, and what a call meets while it is away."""
    from supervisor.runtime.attached.relay_client import process_of
    from supervisor.runtime.attached.settings.attachments import Attachments
    from supervisor.runtime.attached.settings.hook_entries import ways_in

    folder = places(around.environ, around.uid).attached
    files = Attachments(folder).files()
    if not files:
        return DoctorFinding("attached", True, "no settings file of yours (chaperon attach)")
    ways = {path: ways_in(path) for path in files}
    lines = [f"{path}: {way or 'its hooks are gone'}" for path, way in ways.items()]
    if any("by HTTP" in way for way in ways.values()) and not process_of(folder):
        lines.append("the relay of hooks does not run, so the CLI blocks each call")
        return DoctorFinding("attached", None, "\n".join(lines), "Start the daemon: chaperon serve.")
    return DoctorFinding("attached", all(ways.values()) or None, "\n".join(lines))


def systemd(around: DoctorContext) -> DoctorFinding:
    """Whether a user service would start, and live on after the logout."""
    path = shutil.which("systemctl", path=around.environ.get("PATH", os.defpath))
    state = (ask(around, path, "--user", "is-system-running") or "").strip() if path else ""
    if state not in ("running", "degraded", "starting", "maintenance"):
        mend = "Run `chaperon serve` in a terminal, or as chaperon@USER.service of the system."
        return DoctorFinding("systemd", None, "no user manager answers, so there can be no user service", mend)
    if not (around.lingering / around.user).exists():
        mend = f"loginctl enable-linger {around.user}"
        return DoctorFinding(
            "systemd", None, "the user service would end with the last logout, and the agents with it", mend
        )
    return DoctorFinding("systemd", True, f"the user manager is {state}, and stays after the logout")


def ask(around: DoctorContext, path: str, *arguments: str) -> str | None:
    """Run a program and return what it printed; None if it cannot be run or takes too long."""
    command = ChildCommand(
        argv=[path, *arguments],
        environment=around.environ,
        errors="nowhere",
        seconds=ANSWER_SECONDS,
        output_bytes=MOST_ANSWER,
    )
    try:
        done = run_child(command)
    except OSError:
        return None
    return None if done.code is None else done.output.decode(errors="replace")


CHECKS: Mapping[str, Check] = {
    "python": python,
    "package": package,
    "configuration": configuration,
    "programs": programs,
    "claude": claude,
    "git": git,
    "containment": containment,
    "sandbox": sandbox,
    "state": state_directory,
    "daemon": daemon,
    "watches": watches,
    "attached": attached,
    "systemd": systemd,
}
"""All checks, in the order in which they are shown."""


def examine(around: DoctorContext, checks: Mapping[str, Check] = CHECKS) -> list[DoctorFinding]:
    """Run all checks; one that fails is a finding, and the others go on."""
    return list(examined(around, checks))


def examined(around: DoctorContext, checks: Mapping[str, Check] = CHECKS) -> Iterator[DoctorFinding]:
    """Run all checks like `examine`, and yield each finding once it is made."""
    for name, check in checks.items():
        yield _found(name, check, around)


def _found(name: str, check: Check, around: DoctorContext) -> DoctorFinding:
    try:
        return check(around)
    except ChaperonError as error:
        return DoctorFinding(name, False, error.what.rstrip(), error.way_out)
    except OSError as error:
        return DoctorFinding(name, False, f"cannot be looked at: {error}")


def healthy(findings: Sequence[DoctorFinding]) -> bool:
    """Whether chaperon works here."""
    return all(finding.ok is not False for finding in findings)


MARKS: Mapping[bool | None, str] = {True: "ok", None: "--", False: "NO"}
"""How a finding is marked in text: words, so that it reads the same without colour."""


def as_json(findings: Sequence[DoctorFinding]) -> bytes:
    """One object: `ok`, and the findings as they are."""
    made = {"ok": healthy(findings), "findings": [asdict(finding) for finding in findings]}
    return orjson.dumps(made, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def foreign() -> str:
    """Return the fault of the package `supervisor`, or nothing: the entry point beside it knows."""
    return str(import_module("chaperon.start").foreign())
