"""From configuration and machine to the sandbox of one launch; a sandbox that cannot be had starts nothing. Blocks."""

import os
import platform
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import assert_never

from host.durable import write_new
from monitors.contract.errors import ChaperonError
from supervisor.config.sections.sandbox import SandboxInForce, SandboxKind, SandboxSection
from supervisor.runtime.gateway.git_remotes import HELPER, helped, rewritten
from supervisor.runtime.gateway.messages import SOCKET
from supervisor.runtime.sandbox import bubblewrap, entry, landlock, layout, machine, seccomp
from supervisor.runtime.sandbox.bubblewrap import Mount, Walls

ENTRY = Path(entry.__file__)
GIT_HELPER = ENTRY.with_name("git_helper.py")
"""A program of its own, which nothing here imports: its server of HTTP took the daemon 0.5 MB."""

INSIDE = "/run/chaperon"
INSIDE_GATEWAY = f"{INSIDE}/gateway"
PROXY = f"{INSIDE}/{ENTRY.name}"
"""Paths of what chaperon puts into a sandbox. That of the socket is a folder, so that a gateway that was started anew
is reached by it too."""

SHELL_PREFIX = "CLAUDE_CODE_SHELL_PREFIX"
"""Variable of the CLI: a program that gets each command of the shell as its one argument (seen with 2.1.329)."""

PROXIED = {
    **dict.fromkeys(
        ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "http_proxy", "https_proxy"),
        f"http://127.0.0.1:{entry.PROXY_PORT}",
    ),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
}
"""Variables by which tools find the proxy inside, in place of a person's own, which is not reached from there; curl
heeds the small one of HTTP_PROXY alone."""

WHOLE_MACHINE = frozenset({"open", "container"})
"""Profiles that show the whole machine but chaperon's own."""

LANDLOCK_READ = ("/proc", "/sys", "/run/systemd/resolve", "/run/resolvconf", "/etc/resolv.conf")
LANDLOCK_WRITE = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/dev/pts")  # noqa: S108 - a place of the machine
"""Places outside of the home directory for an agent that Landlock holds, beside the programs and their settings."""

DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx"))
"""Device files that programs need. Others lead out: disks, memory, virtual machines, if the user may open them."""


CONTROL_GROUPS = Path("/sys/fs/cgroup")


class SandboxError(ChaperonError):
    """A sandbox is asked for that cannot be had; nothing was started."""


@dataclass(frozen=True, slots=True)
class SandboxedLaunch:
    """How a CLI is started."""

    words: tuple[str, ...]
    """The command that stands before the CLI's; empty without a sandbox."""
    program: str
    """The CLI, by its path inside."""
    environment: Mapping[str, str]
    """Its environment."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Variables that the CLI's settings must set."""
    name: str = ""
    """The sandbox for people, with its profile; empty for none."""


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """Facts of one launch."""

    cli: str
    workspace: Path
    checkout: Path
    """The main checkout of the workspace's repository; the same, unless it is a worktree."""
    own: Path
    """The agent's own folder for the CLI's configuration, outside; it need not be there."""
    environment: Mapping[str, str]
    gateway: Path | None = None
    """Folder of the agent's socket at the gateway; None if the CLI reaches the model by itself."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """The last step into a sandbox, as it is started in one."""

    command: tuple[str, ...]
    source: Path
    """The program, by its path outside."""
    at: str
    """The same inside."""
    compiled: bool


class Sandboxes:
    """Makes the sandboxes of agents.

    Args:
        wanted: `agent.sandbox`.
        section: What agents can reach.
        home: The user's home directory.
        hidden: Folders of chaperon, which no agent may see.
        environ: The daemon's environment, in whose PATH bubblewrap is looked for.
        workspaces: Folder of agents' own workspaces, of which an agent in the profile `container` sees its own alone.
        max_processes: Most processes and threads of one agent in bubblewrap; None for no bound.
        entry_program: The last step into a sandbox; it is used in its compiled form, if that is beside it.
        in_tmp: The hidden folder that may lie in /tmp under Landlock: that of the sockets, which refuse agents, on a
            machine that names no other.
    """

    def __init__(
        self,
        wanted: SandboxKind,
        section: SandboxSection,
        home: Path,
        hidden: Sequence[Path],
        environ: Mapping[str, str],
        workspaces: Path | None = None,
        max_processes: int | None = None,
        entry_program: Path = ENTRY,
        in_tmp: Path | None = None,
    ) -> None:
        self._in_tmp = in_tmp
        self._entry_program = entry_program
        self._workspaces = workspaces
        self._max_processes = max_processes if machine.counts_by_namespace(platform.release()) else None
        self._wanted = wanted
        self._section = section
        self._home = home
        self._hidden = tuple(hidden)
        self._environ = environ
        self._found: tuple[SandboxInForce, machine.Facility] | None = None

    @property
    def own_config_dir(self) -> bool:
        """Whether each agent has a CLAUDE_CONFIG_DIR of its own, because that of the user is out of its reach."""
        return self._wanted != "none" and self._section.profile not in WHOLE_MACHINE

    def in_force(self) -> tuple[SandboxInForce, machine.Facility]:
        """Return the sandbox that agents get; what works is not tried again.

        Raises:
            SandboxError: It cannot be had.
        """
        if self._found is None:
            kept = [path for path in (*self._hidden, self._home) if path != self._in_tmp]
            self._found = choose(self._wanted, self._section, self._environ, kept)
        return self._found

    def wrap(self, site: LaunchSite) -> SandboxedLaunch:
        """Say how to start a CLI; the folder of its configuration is made.

        Raises:
            SandboxError: The sandbox cannot be had.
            OSError: The folder cannot be made.
        """
        kind, facility = self.in_force()
        if kind == "none":
            return SandboxedLaunch((), site.cli, site.environment)
        self._check()
        site.own.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = layout.HostLayout(self._home, site.workspace, site.checkout, self._hidden, site.environment)
        match kind:
            case "bubblewrap":
                made = self._bubblewrap(facility, site, place)
            case "landlock":
                made = self._landlock(facility, site, place)
            case _:
                assert_never(kind)
        return replace(made, name=f"{kind}, {self._section.profile}")

    def _entry(self, inside: str) -> "_Entry":
        """Say how the last step into a sandbox is started, by the folder in which it stands inside, if in another."""
        compiled = machine.compiled_entry(self._entry_program)
        source = compiled or self._entry_program
        at = f"{inside}/{source.name}" if inside else str(source)
        python, _ = layout.interpreter()
        return _Entry((at,) if compiled else (str(python), "-I", "-S", "-E", at), source, at, compiled is not None)

    def _apart(self, site: LaunchSite, last: "_Entry") -> Path | None:
        """Return the program that shells of the agent are started through; None if the kernel cannot keep them apart.

        It is written, unless `entry` was compiled, which is one itself.
        """
        if not self._section.commands_apart or not landlock.has_scopes(machine.landlock().abi):
            return None
        if last.compiled:
            return last.source
        words = landlock.words_apart(last.command, perl=landlock.PERL.is_file())
        return _script(site.own.with_name("shell"), words, '"$1"')

    def _git(
        self, site: LaunchSite, folder: str, program: Path | str, gateway: str
    ) -> tuple[Path | None, dict[str, str]]:
        """Return a script by which git asks the gateway, and the variables that lead git to it, if remotes are named.

        Args:
            site: The launch.
            folder: The folder of the script inside; empty for where it lies outside.
            program: The program of the script, as it is found inside.
            gateway: The gateway's socket inside.
        """
        if not self._section.git_remotes or site.gateway is None:
            return None, {}
        python, _ = layout.interpreter()
        script = site.own.with_name("git") / f"git-remote-{HELPER}"
        script.parent.mkdir(mode=0o700, exist_ok=True)
        _script(script, [str(python), "-I", "-S", "-E", str(program), gateway], '"$@"')
        path = f"{folder or script.parent}:{site.environment.get('PATH', os.defpath)}"
        return script, {**helped(self._section.git_remotes, site.environment), "PATH": path}

    def _check(self) -> None:
        if self._home == Path("/"):
            raise SandboxError(
                "The home directory is /, so nothing of the machine could be hidden; nothing was started.",
                way_out="Set HOME to a directory of the user's own.",
            )
        for path in (*self._section.read, *self._section.write):
            target = Path(os.path.realpath(path))
            for hidden in (*self._hidden, self._home):
                if hidden.is_relative_to(target) or (hidden != self._home and target.is_relative_to(hidden)):
                    raise SandboxError(
                        f"The section `sandbox` opens {path!r}, by which agents would see {str(hidden)!r}; nothing was "
                        "started.",
                        way_out="Name the folders that agents need instead.",
                    )

    # ── bubblewrap ──

    def _bubblewrap(self, facility: machine.Facility, site: LaunchSite, place: layout.HostLayout) -> SandboxedLaunch:
        python, libraries = layout.interpreter()
        program, needed = layout.program_of(site.cli)
        whole = self._section.profile in WHOLE_MACHINE
        last = self._entry("" if whole else INSIDE)
        apart = self._apart(site, last)
        project = place.covered(self._project(site, place, (libraries, needed)))
        mounts = list(self._whole_machine(site) if whole else project)
        shell = str(apart) if whole else f"{INSIDE}/shell"
        if not whole:
            mounts += [
                Mount("read", at, str(source))
                for at, source in {last.at: last.source, PROXY: self._entry_program}.items()
            ]
        if apart is not None:
            mounts.append(Mount("read", shell, str(apart)))
        git: dict[str, str] = {}
        if self._section.profile != "closed":
            inside = f"{site.gateway if whole else INSIDE_GATEWAY}/{SOCKET}"
            folder = "" if whole else f"{INSIDE}/git"
            script, git = self._git(site, folder, GIT_HELPER if whole else f"{INSIDE}/{GIT_HELPER.name}", inside)
            if script is not None:
                mounts.append(Mount("read", folder or str(script.parent), str(script.parent)))
                mounts += [] if whole else [Mount("read", f"{INSIDE}/{GIT_HELPER.name}", str(GIT_HELPER))]
        walls = Walls(
            tuple(mounts), str(site.workspace), self._section.profile == "closed", self._section.memory_mb * 2**20
        )
        closed = self._section.profile == "closed" and site.gateway is not None
        plan = landlock.EntryPlan(
            seccomp.program(platform.machine()),
            proxy=(str(python), PROXY, f"{INSIDE_GATEWAY}/{SOCKET}") if closed else (),
            scoped=landlock.has_scopes(machine.landlock().abi),
            processes=self._max_processes or 0,
        )
        words = [*bubblewrap.words(facility.path, walls), *landlock.words(last.command, plan)]
        own = {} if whole else {"CLAUDE_CONFIG_DIR": str(self._home / ".claude"), "TMPDIR": "/tmp"}  # noqa: S108
        if site.gateway is not None and not whole:
            own["ANTHROPIC_UNIX_SOCKET"] = f"{INSIDE_GATEWAY}/{SOCKET}"
        if closed:
            own |= PROXIED | rewritten(
                self._section.git_remotes, f"http://127.0.0.1:{entry.PROXY_PORT}", site.environment
            )
        settings = {SHELL_PREFIX: shell} if apart is not None else {}
        return SandboxedLaunch(tuple(words), str(program), {**site.environment, **own, **git}, settings)

    def _project(self, site: LaunchSite, place: layout.HostLayout, further: tuple[Path, ...]) -> Iterator[Mount]:
        """Yield the mounts of the profiles `project` and `closed`; of two within each other the outer first."""
        yield from place.system()
        yield Mount("devices", "/dev")
        yield Mount("processes", "/proc")
        for path in ("/tmp", "/var/tmp", "/run", str(self._home)):  # noqa: S108 - inside
            yield Mount("memory", path)
        yield from bubblewrap.read(map(str, place.tools(further)))
        yield Mount("write", str(self._home / ".claude"), str(site.own))
        yield from bubblewrap.read(map(str, place.texts()))
        yield from bubblewrap.read(path for path in self._section.read if Path(path).exists())
        yield from (_written(path) for path in self._section.write if Path(path).exists())
        yield Mount("write", str(site.workspace))
        yield from place.repository()
        yield from bubblewrap.read(map(str, place.run_later()))
        if site.gateway is not None:
            yield Mount("write", INSIDE_GATEWAY, str(site.gateway))

    def _whole_machine(self, site: LaunchSite) -> Iterator[Mount]:
        yield Mount("devices", "/", "/")
        yield Mount("processes", "/proc")
        if CONTROL_GROUPS.is_dir():  # by which processes outside are frozen and ended
            yield Mount("read", str(CONTROL_GROUPS))
        for path in self._hidden:
            if path.is_dir():
                yield Mount("memory", os.path.realpath(path))
        if self._section.profile == "container" and self._workspaces is not None:
            # What is not there yet cannot be covered, and those that are made later would be seen.
            self._workspaces.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield Mount("memory", os.path.realpath(self._workspaces))
            yield Mount("write", str(site.workspace))
        yield Mount("write", str(site.own))
        if site.gateway is not None:
            yield Mount("write", str(site.gateway))

    # ── Landlock ──

    def _landlock(self, facility: machine.Facility, site: LaunchSite, place: layout.HostLayout) -> SandboxedLaunch:
        _, libraries = layout.interpreter()
        program, needed = layout.program_of(site.cli)
        whole = self._section.profile in WHOLE_MACHINE
        last = self._entry("")
        read = [*place.tools((libraries, needed)), *place.texts(), last.source, *place.run_later()]
        apart = self._apart(site, last)
        script, git = self._git(site, "", GIT_HELPER, f"{site.gateway}/{SOCKET}")
        read += [each for each in (apart, script and script.parent, script and GIT_HELPER) if each is not None]
        repository = [mount.target for mount in place.repository() if mount.kind == "write"]
        if not whole:
            self._check_workspace(site.workspace)
        plan = landlock.EntryPlan(
            seccomp.program(platform.machine()),
            files=not whole,
            read=tuple(map(str, self._shown(place, read))),
            write=(
                *LANDLOCK_WRITE,
                *DEVICES,
                str(site.workspace),
                str(site.own),
                *map(str, filter(None, (site.gateway,))),
                *repository,
                *self._section.write,
            ),
            scoped=landlock.has_scopes(facility.abi),
        )
        words = landlock.words(last.command, plan)
        settings = {SHELL_PREFIX: str(apart)} if apart is not None else {}
        return SandboxedLaunch(tuple(words), str(program), {**site.environment, **git}, settings)

    def _check_workspace(self, workspace: Path) -> None:
        """Refuse a workspace that holds what is hidden: Landlock opens a folder whole, and takes nothing out."""
        if (found := _within(str(workspace), [path for path in self._hidden if path != self._in_tmp])) is not None:
            raise SandboxError(
                f"Under Landlock an agent writes all of its workspace {workspace}, and {str(found)!r} lies in it, which it "
                "must not see; nothing was started.",
                way_out="Set agent.sandbox to bubblewrap, or have the daemon keep that folder elsewhere.",
            )

    def _shown(self, place: layout.HostLayout, further: Sequence[Path]) -> Iterator[Path]:
        """Yield what may be read; a folder that holds the home directory or chaperon's own is taken apart."""
        system = (Path(mount.target) for mount in place.system())
        hidden = (self._home, *self._hidden)
        for path in (*map(Path, LANDLOCK_READ), *system):
            yield from layout.without(path, hidden)
        yield from (*further, *map(Path, self._section.read))


def _script(path: Path, words: Sequence[str], arguments: str) -> Path:
    """Write a script that becomes a program, and return its path."""
    made = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    write_new(made, f"#!/bin/sh\nexec {shlex.join(words)} {arguments}\n".encode(), mode=0o700)
    made.replace(path)  # another launch of the folder may be about to use it
    return path


def _written(path: str) -> Mount:
    """Return the mount of a path that may be written: device files in one of the usual kind are names alone."""
    return Mount("devices" if Path(path).is_relative_to("/dev") else "write", path, path)


def _try_bubblewrap(_: SandboxSection, environ: Mapping[str, str], _kept: Sequence[Path]) -> machine.Facility:
    return machine.try_bubblewrap(environ)


def _try_landlock(section: SandboxSection, _: Mapping[str, str], kept: Sequence[Path]) -> machine.Facility:
    found = machine.landlock()
    if section.profile == "closed":
        says = "Landlock closes no network, which the profile `closed` promises"
        return replace(found, works=False, says=says, mend="")
    for place in () if section.profile in WHOLE_MACHINE else LANDLOCK_WRITE:
        if (inside := _within(place, kept)) is not None:
            says = f"Landlock opens {place} whole, in which {str(inside)!r} lies, which agents must not see"
            return replace(found, works=False, says=says, mend="Have the daemon keep that folder elsewhere.")
    return found


def _within(place: str, kept: Sequence[Path]) -> Path | None:
    """Return one of the folders that lies in a place; None if none does."""
    real = os.path.realpath(place)
    return next((path for path in kept if Path(os.path.realpath(path)).is_relative_to(real)), None)


TRIALS: dict[SandboxInForce, Callable[[SandboxSection, Mapping[str, str], Sequence[Path]], machine.Facility]] = {
    "bubblewrap": _try_bubblewrap,
    "landlock": _try_landlock,
}
"""Says of each kind, the strongest first, whether it works on this machine and holds the profile that is asked for."""


def choose(
    wanted: SandboxKind, section: SandboxSection, environ: Mapping[str, str], kept: Sequence[Path] = ()
) -> tuple[SandboxInForce, machine.Facility]:
    """Return the sandbox that is asked for, once it was seen to work.

    Args:
        wanted: `agent.sandbox`.
        section: What agents can reach.
        environ: In whose PATH bubblewrap is looked for.
        kept: Folders that no agent may see: Landlock gives that up for one in a place that every agent writes.

    Raises:
        SandboxError: It cannot be had.
    """
    if wanted == "none":
        return "none", machine.Facility(works=True, says="agents are held by no sandbox")
    tried: list[machine.Facility] = []
    for kind, trial in TRIALS.items():
        if wanted in ("auto", kind):
            tried.append(trial(section, environ, kept))
            if tried[-1].works:
                return kind, tried[-1]
    found = "; ".join(each.says for each in tried)
    mends = " ".join(each.mend for each in tried if each.mend)
    raise SandboxError(
        f"agent.sandbox is `{wanted}`, and this machine does not give it: {found}. Nothing was started.",
        way_out=f"{mends} Or set agent.sandbox to another value; `none` holds agents by review alone.".strip(),
    )
