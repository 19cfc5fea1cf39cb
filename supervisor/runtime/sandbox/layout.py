"""The folders of this machine that an agent needs, and those that it must not have, by a look at the disk. Blocks."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from host.standing import is_file, is_folder
from supervisor.runtime.sandbox.bubblewrap import Mount, read

AT_THE_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Names that are links into `/usr` on most systems, and folders on others."""

PROGRAMS = (
    "/usr", "/opt", "/nix/store", "/gnu/store", "/snap",
    "/var/lib/ca-certificates", "/var/lib/dpkg", "/var/lib/texmf",
)  # fmt: skip
"""Folders of installed programs and their libraries. Below `/var` are the certificates of openSUSE, to which its
`/etc/ssl` leads, the packages of Debian and its formats of TeX."""

OF_ETC = (
    # Names of users, hosts and services.
    "passwd", "group", "nsswitch.conf", "hosts", "host.conf", "services", "protocols", "shells", "login.defs",
    # How programs are loaded, and which one a name means.
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "alternatives",
    # Settings of languages; those of Java are a folder for each version.
    "java", "java-*", "dotnet", "maven", "perl", "php", "python3", "R", "ruby", "texmf",
    # Whom to trust on the network.
    "ssl", "pki", "ca-certificates", "ca-certificates.conf", "crypto-policies",
    # Language, time, terminals, fonts and kinds of files.
    "locale.conf", "default/locale", "localtime", "timezone", "terminfo", "inputrc", "fonts", "mime.types", "magic",
    # Shells and git for everybody on this machine.
    "profile", "profile.d", "bash.bashrc", "bashrc", "zsh", "gitconfig", "gitattributes",
    # Browsers, which tests drive: those of Debian do not start without their folder.
    "chromium", "chromium.d", "chromium-browser", "firefox", "firefox-esr", "opt/chrome",
    # Which system this is; `dpkg` does not start if its folder is there and closed.
    "dpkg", "os-release", "lsb-release", "debian_version", "redhat-release", "alpine-release", "machine-id",
)  # fmt: skip
"""Entries of `/etc` that programs read; others may hold passwords of services, and chaperon's own configuration."""

TOOLS_OF_HOME = (
    ".asdf", ".bun", ".cargo/bin", ".cargo/registry", ".deno", ".local/bin", ".local/lib", ".local/pipx",
    ".local/share/claude", ".local/share/mise", ".local/share/pipx", ".local/share/uv", ".nvm", ".pyenv", ".rbenv",
    ".rustup", ".rye", ".sdkman", ".volta", "go/bin", "go/pkg", "miniconda3",
)  # fmt: skip
"""Folders of a home directory in which tools install programs, and their libraries; none is a place for secrets."""

TEXTS_OF_HOME = (
    ".gitconfig", ".config/git", ".claude/CLAUDE.md", ".claude/agents", ".claude/commands", ".claude/skills",
)  # fmt: skip
"""A person's settings for git, and texts for the CLI. `.claude/settings.json` is left out: it may hold keys."""

RUN_LATER = (".claude", ".devcontainer", ".envrc", ".husky", ".idea", ".mcp.json", ".vscode")
"""Names in a workspace that programs of people obey later, outside of the sandbox."""

OF_GIT = ("config", "config.worktree", "hooks", "info/attributes")
"""Parts of a repository by which git starts programs; what is written there runs as the next person who uses git."""

OF_A_WORKTREE = ("commondir", "gitdir", "config.worktree")
"""Files of a worktree that say where its repository is."""

MOST_MODULES = 200
"""Submodules whose configuration is looked after."""


class HostLayout:
    """The machine as one launch finds it.

    Args:
        home: The user's home directory.
        workspace: The folder that the agent works in.
        checkout: The main checkout of its repository; the same, unless it is a worktree.
        hidden: Folders of chaperon, which no agent may see.
        environment: The agent's environment.
    """

    def __init__(
        self, home: Path, workspace: Path, checkout: Path, hidden: Iterable[Path], environment: Mapping[str, str]
    ) -> None:
        self.home = home
        self.workspace = workspace
        self._checkout = checkout
        self.hidden = tuple(hidden)
        self._environment = environment

    def may_show(self, path: Path) -> bool:
        """Whether a path may be shown: it neither holds nor lies in the home directory's secrets or chaperon's own."""
        target = Path(os.path.realpath(path))
        if self.home.is_relative_to(target):
            return False
        return not any(each.is_relative_to(target) or target.is_relative_to(each) for each in self.hidden)

    def system(self) -> Iterator[Mount]:
        """Yield the programs of this machine."""
        for name in AT_THE_TOP:
            path = Path("/", name)
            if path.is_symlink():
                yield Mount("link", str(path), str(path.readlink()))
            elif path.is_dir():
                yield Mount("read", str(path))
        yield from read(path for path in PROGRAMS if Path(path).is_dir())
        yield from read(str(entry) for name in OF_ETC for entry in sorted(Path("/etc").glob(name)) if entry.exists())

    def covered(self, mounts: Iterable[Mount]) -> Iterator[Mount]:
        """Yield the mounts, and over each that shows chaperon's own an empty folder in its place."""
        for mount in mounts:
            yield mount
            if mount.kind in ("read", "write"):
                source = _real(Path(mount.source or mount.target))
                for path in map(_real, self.hidden):
                    if path.is_relative_to(source) and path != source and path.is_dir():
                        yield Mount("memory", str(Path(mount.target, path.relative_to(source))))

    def tools(self, further: Iterable[Path]) -> list[Path]:
        """Return folders of programs elsewhere: of the home directory, of PATH, and the further ones; none twice."""
        known = [self.home / name for name in TOOLS_OF_HOME]
        on_path = [Path(each) for each in self._environment.get("PATH", os.defpath).split(":") if each.startswith("/")]
        found: list[Path] = []
        for path in (*known, *map(_with_libraries, on_path), *further):
            shown = (*map(Path, PROGRAMS), *(Path("/", name) for name in AT_THE_TOP), *found, self.workspace)
            if path.exists() and self.may_show(path) and not any(path.is_relative_to(each) for each in shown):
                found.append(path)
        return found

    def texts(self) -> list[Path]:
        """Return the files of the home directory that speak to git and the CLI."""
        return [path for name in TEXTS_OF_HOME if (path := self.home / name).exists()]

    def repository(self) -> Iterator[Mount]:
        """Yield the mounts of the workspace's repository: to write, but for what makes git start programs.

        `.git` is a mount itself: a folder that is none can be moved away, and another be put in its place.
        """
        link = self.workspace / ".git"
        common = self._common()
        if common is None:
            return
        yield Mount("write", str(common))
        if is_file(link):
            yield Mount("read", str(link))
        for path in _of_git(common):
            yield Mount("read", str(path))
        if not (common / "hooks").exists():
            yield Mount("memory", str(common / "hooks"))

    def run_later(self) -> list[Path]:
        """Return the files of the workspace that people's programs obey later, where there are any."""
        return [path for name in RUN_LATER if os.path.lexists(path := self.workspace / name) and not path.is_symlink()]

    def _common(self) -> Path | None:
        """Return the folder of the repository; None if the workspace has none."""
        link = self.workspace / ".git"
        try:
            kind = link.lstat().st_mode
        except OSError:
            return None
        if stat.S_ISDIR(kind):
            return link
        common = self._checkout / ".git"
        return common if stat.S_ISREG(kind) and is_folder(common) and common != link else None


def without(path: Path, hidden: Iterable[Path]) -> Iterator[Path]:
    """Yield a path, or what lies in it but for what is hidden: for rules that can allow alone."""
    target = Path(os.path.realpath(path))
    inside = [each for each in map(_real, hidden) if each.is_relative_to(target)]
    if not inside:
        if not any(target.is_relative_to(each) for each in map(_real, hidden)):
            yield path
        return
    if target in inside:
        return
    try:
        entries = sorted(target.iterdir())
    except OSError:
        return
    for entry in entries:
        yield from without(entry, inside)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def interpreter() -> tuple[Path, Path]:
    """Return this interpreter without links, and the folder that it needs to run."""
    return Path(os.path.realpath(sys.executable)), Path(os.path.realpath(sys.base_prefix))


def program_of(cli: str) -> tuple[Path, Path]:
    """Return the CLI's file without links, and the smallest path that it needs to run.

    A CLI that is a script of a package needs all of that package.
    """
    path = Path(os.path.realpath(cli))
    packaged = (path.parent / "package.json").is_file()
    return path, path.parent if packaged else path


def _with_libraries(folder: Path) -> Path:
    """Return the folder that has a folder of programs and their libraries, or the folder of programs alone."""
    above = folder.parent
    return above if folder.name in ("bin", "sbin") and (above / "lib").is_dir() else folder


def _of_git(common: Path) -> Iterator[Path]:
    modules = [path.parent for path in _some((common / "modules").glob("**/config"))]
    for folder in (common, *modules):
        yield from (path for name in OF_GIT if (path := folder / name).exists())
    for worktree in _some((common / "worktrees").glob("*")):
        yield from (path for name in OF_A_WORKTREE if (path := worktree / name).exists())


def _some(paths: Iterator[Path]) -> list[Path]:
    return [path for path, _ in zip(paths, range(MOST_MODULES), strict=False)]
