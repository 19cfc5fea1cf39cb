"""Places of paths, and their meaning for writes, deletions and reads."""

import posixpath
from enum import StrEnum
from functools import lru_cache

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.expressions import later
from monitors.review.scene.lookups import FileLookups
from monitors.review.shell.invocation import Arg

HERE = "/?/?/?/?/?/?"
"""The working directory if none is known: deep enough that `..` does not look like the root."""
TMPDIR = "/?/TMPDIR"
"""Stands for an unchanged `$TMPDIR` of unknown value."""
MAX_PATH = 4096
"""Longest path looked at, in characters: Linux's own PATH_MAX."""


class Place(StrEnum):
    """Kinds of places, distinguished by the harm that can be done there."""

    NOWHERE = "nowhere"
    """`/dev/null`, a terminal, standard streams: nothing is kept."""
    SCRATCH = "scratch space"
    WORKSPACE = "the workspace"
    HERE = "the working directory"
    """Below the working directory, if there is no workspace."""
    CACHE = "a cache"
    """Below the home directory, made again by whatever tool it belongs to."""
    HOME = "the home directory"
    OTHER = "outside the workspace"
    SYSTEM = "the system"
    STARTUP = "what starts by itself"
    """Files that are run at login, at boot or by a timer, and that say who may log in."""
    TOP = "a whole home or system directory"
    """`/`, `/etc`, `/home/user`, `~`: deleting it ends the account or the machine."""
    DEVICE = "a device"
    PROTECTED = "chaperon's own files"
    UNKNOWN = "a place not known"


_TOPS = frozenset(
    {
        "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin", "/snap", "/srv", "/sys", "/tmp", "/usr", "/var", "/usr/bin",  # noqa: S108 — names of places, never written to
        "/usr/lib", "/usr/lib64", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/usr/share", "/usr/include", "/usr/src", "/var/lib", "/var/log", "/var/tmp", "/var/www", "/var/spool",  # noqa: S108 — names of places, never written to
        "/var/cache", "/var/mail", "/var/db", "/var/backups", "/Users", "/System", "/Library", "/Applications", "/Volumes", "/private", "/private/var", "/private/etc", "/private/tmp",
    }
)  # fmt: skip
_SYSTEM = ("/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var", "/snap", "/System", "/Library", "/Applications", "/private", "/nix", "/efi")  # fmt: skip
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/console", "/dev/ptmx"})  # fmt: skip
_STARTUP = later(
    r"/etc/(?:cron|anacron|init\.d|rc[.\d]|systemd/|profile|bash\.?|zsh|sudoers|pam\.|ld\.so|passwd|shadow|gshadow|group|ssh/|xdg/autostart|modules|modprobe\.d|udev/|environment|inittab|security/|polkit-1/|dbus-1/)"
    r"|/var/spool/(?:cron|at)|/(?:usr/)?lib/systemd/|/etc/update-motd\.d"
    r"|(?:^~|^/home/[^/]+|^/root|^/Users/[^/]+|^\$HOME)/\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|login|cshrc|tcshrc|kshrc|inputrc|xinitrc|xprofile|xsession"
    r"|ssh/(?:authorized_keys|rc|config|environment)|config/(?:autostart|systemd|fish/config|fish/conf\.d|environment\.d)|local/share/systemd|pam_environment|gitconfig|config/git/config|vimrc|emacs|lessfilter|lesskey|gdbinit|(?:bash|zsh|python|psql|mysql|node_repl|lesshst)_?history|lldbinit|screenrc|tmux\.conf|wgetrc|curlrc|config/procps|toprc|psqlrc|sqliterc|irbrc|pryrc|pythonrc|perltidyrc|mailcap|forward|procmailrc|gnupg/|netrc|pypirc|npmrc|pam_environment)"
    # What builds of every project of a person run first, or have instead of what they ask for.
    r"|(?:^~|^/home/[^/]+|^/root|^/Users/[^/]+|^\$HOME)/\.(?:gradle/init(?:\.d/|\.gradle)|m2/(?:settings|extensions|toolchains)[^/]*\.xml$|sbt/[\d.]+/(?:plugins/|[^/]+\.sbt$)|cargo/config|bundle/config$)"
    r"|/(?:user|site)customize\.py$|/\.git/(?:hooks/|config$|info/attributes)|/Launch(?:Agents|Daemons)(?:/|$)"
    # Of the CLI: servers that it starts with a project without asking (seen with 2.1.329), tasks of later sessions, plugins.
    r"|/\.mcp\.json$|/\.claude/(?:scheduled_tasks\.json$|plugins/)"
)
_HOOK_SETTINGS = later(
    r"(?:^|/)\.claude/(?:settings[^/]*\.json(?:[*?]|$)|hooks(?:/|$)|(?:\{\}|\*|\*\.json)$)|/etc/claude-code(?:/|$)|/managed-settings\.json$"
)
_GUARD_PROGRAM = later(r"/bin/chaperon$")
"""Chaperon's own program, wherever it is installed; in a workspace it is a project's."""
_CACHE = later(
    r"^(?:~|/home/[^/]+|/root|/Users/[^/]+)/(?:\.(?:cache|npm|cargo/registry|m2|gradle|pnpm-store|yarn|bundle|nuget|ivy2|sbt|gem|local/share/(?:pnpm|uv|virtualenvs))|Library/(?:Caches|Developer/Xcode/DerivedData))/."
    # Of the CLI, which tells its model to write there: plans, and what it is to remember of a project.
    r"|/\.claude/(?:plans|projects/[^/]+/memory)/."
)
_OWN_HOME = later(r"/(?:home|Users)/[^/]+|/root|/var/root")
_MAC_SCRATCH = later(r"(?:/private)?/var/folders/[^/]+/[^/]+/T/.")
"""Values of an unchanged `$TMPDIR` on macOS."""
_DEVICE = later(
    r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper|dm-|loop|md|sr|mem$|kmem$|port$|nbd|rdisk|fb\d|mtd|i2c|tty[SU])"
)

_SECRETS = (
    (later(r"^/etc/(?:shadow|gshadow|sudoers|master\.passwd|security/opasswd)(?:[-.~].*)?$"), "password hashes"),
    (
        later(r"^/etc/(?:ssh/ssh_host_[^/]*_key|ssl/private|krb5\.keytab|ipsec\.secrets|wireguard)(?:/|$)"),
        "private keys of the machine",
    ),
    (
        later(r"/\.ssh/(?:id_[a-z0-9_]+|identity|[^/]*\.pem|[^/]*_rsa|[^/]*_ed25519|\*|id_\*)$|/\.ssh/?$"),
        "private SSH keys",
    ),
    (
        later(
            r"/\.(?:aws/(?:credentials|sso)|netrc|_netrc|pgpass|my\.cnf|mylogin\.cnf|git-credentials|npmrc|pypirc|vault-token|docker/config\.json|kube/config|config/gcloud|azure/|config/gh/hosts\.yml|terraform\.d/credentials|cargo/credentials|gem/credentials|boto|s3cfg|config/hub|config/rclone|password-store|htpasswd)(?!\.(?:example|sample|template))"
        ),
        "stored credentials",
    ),
    (later(r"/\.gnupg(?:/|$)"), "private GnuPG keys"),
    # The whole of a directory that holds them: what is read of it is everything, or what a glob finds.
    (later(r"^[^:]*/\.(?:aws|azure|kube|config/(?:gh|gcloud|hub|op))(?:/[^/]*\*[^/]*)*/?$"), "credentials"),
    (later(r"/\.claude/\.credentials\.json$|/\.claude\.json$"), "Claude's credentials"),
    (
        later(
            r"^/proc/(?:(?:thread-)?self|[\d*?\[\]!^-]+|\$\$|\$\{?\w+\}?|\$\([^/]{1,200}\))/(?:environ|mem|maps|root)|^/proc/(?:kcore|kmem)$|^/dev/k?mem$"
        ),
        "the memory of processes",
    ),
    (
        later(
            r"/(?:Login Data|cookies\.sqlite|key[34]\.db|logins\.json|Cookies|wallet\.dat|keychain-db)$|/\.(?:mozilla|config/google-chrome|bitcoin|ethereum)/|/Keychains/"
        ),
        "a browser's or wallet's secrets",
    ),
    (later(r"^/(?:var/run|run)/secrets(?:/|$)"), "secrets given to a container"),
    (
        later(r"/\.(?:bash|zsh|psql|mysql|rediscli)_history$|/Library/(?:Messages|Mail|Safari|Cookies)/."),
        "what the person wrote and typed",
    ),
    (
        later(
            r"^/var/lib/(?:sss|AccountsService)/|^/etc/NetworkManager/system-connections|^/(?:var/lib|etc)/samba/private"
        ),
        "stored passwords",
    ),
)
_PROJECT_SECRET = later(
    r"(?:^|/)(?:\.env(?:\.?\*|\.(?!example|sample|template|dist|test)[\w.-]+)?|[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx)|credentials\.json|service-account[^/]*\.json|secrets?\.(?:ya?ml|json|toml)|id_(?:rsa|ed25519|ecdsa|dsa))$"
)


class ActionPlaces:
    """Knows the places of one action."""

    def __init__(
        self,
        action: Action,
        context: ReviewContext,
        facts: FileLookups,
        *,
        strict: bool,
        container: bool = False,
        writable: tuple[str, ...] = (),
    ) -> None:
        self._given = (action, context, strict, container, writable)
        self.container = container
        self.home = _clean(context.home)
        self._unusual_home = self.home if self.home and _OWN_HOME.fullmatch(self.home) is None else ""
        self.workspace = "" if strict else _clean(action.workspace)
        self.cwd = _clean(action.cwd) or self.workspace or HERE
        self.protected = tuple(filter(None, map(_clean, context.protected)))
        self.others = tuple(filter(None, map(_clean, context.others)))
        self.facts = facts
        self.tmpdir = _clean(context.environment.get("TMPDIR", "")) or TMPDIR
        self.scratch = ("/tmp", "/var/tmp", "/private/tmp", self.tmpdir)  # noqa: S108 — classified, never written
        self.writable = tuple(filter(None, map(_clean, writable)))

    def apart(self) -> "ActionPlaces":
        """Return the same places, in which other links can be followed."""
        action, context, strict, container, writable = self._given
        return ActionPlaces(action, context, self.facts, strict=strict, container=container, writable=writable)

    def absolute(self, path: str, cwd: str = "") -> str:
        """The path with cwd, `~` and `..` worked in; links are not followed."""
        path = path[:MAX_PATH]
        if path[:1] == "~":
            path = self._tilde(path)
        elif path[:1] != "/":
            path = f"{cwd or self.cwd}/{path}"
        return _clean(path)

    def _tilde(self, path: str) -> str:
        user, slash, rest = path[1:].partition("/")
        if user:
            return f"/home/{user}{slash}{rest}" if user not in ("+", "-") else self.cwd + slash + rest
        return (self.home or "~") + slash + rest

    def of(self, word: Arg, cwd: str = "") -> Place:
        """Return the place of a path given to a command; links followed."""
        if not word.known and word[:1] in "$`":
            return Place.UNKNOWN
        return self.place(self.absolute(word, cwd))

    def place(self, path: str) -> Place:
        """Return the place of an absolute path: the worse of the path as written and of its target."""
        lexical = self._place(path)
        real = self.facts.real(path)
        return lexical if real == path else max(lexical, self._place(real), key=_WORSE.__getitem__)

    def entry(self, path: str) -> Place:
        """Return the place of the directory entry that a path names.

        Links before its last part are followed, and it is not.

        A deletion or move of a link leaves the link's target.
        """
        lexical, real = self._place(path), self.real_entry(path)
        return lexical if real == path else max(lexical, self._place(real), key=_WORSE.__getitem__)

    def real_entry(self, path: str) -> str:
        """The path with the links in front of its last part followed."""
        folder, _, name = path.rpartition("/")
        if not folder or name in ("", ".", ".."):
            return self.facts.real(path)
        return f"{self.facts.real(folder).rstrip('/')}/{name}"

    def _place(self, path: str) -> Place:
        place = self._on_a_machine(path)
        if not self.container:
            return place
        if place in _THEIRS and self.is_others(path):
            return Place.OTHER if place is Place.SCRATCH else place
        if place in _THROWN_AWAY and self.is_kept(path):
            return place
        return Place.SCRATCH if place in _THROWN_AWAY else place

    def _on_a_machine(self, path: str) -> Place:
        if path in _NOWHERE or path.startswith(("/dev/fd/", "/dev/pts/", "/dev/tcp/", "/dev/udp/", "/proc/self/fd/")):
            return Place.NOWHERE
        inside = self.workspace and _below(path, self.workspace)
        if self.is_protected(path) or (not inside and _GUARD_PROGRAM.search(path)):
            return Place.PROTECTED
        named = path
        if self._unusual_home and path.startswith(f"{self._unusual_home}/"):
            named = f"~{path[len(self._unusual_home) :]}"  # the patterns know /root and what lies in /home and /Users
        if _STARTUP.search(named) or (named is not path and _STARTUP.search(path)):
            return Place.STARTUP
        if inside:
            return Place.WORKSPACE
        bare = path.rstrip("*").rstrip("/") or "/"
        if not self._at_home(path) and (
            any(_below(path, top) and path != top for top in self.scratch)
            or path.startswith("/dev/shm/")  # noqa: S108 — classified, never written
            or _MAC_SCRATCH.match(path)
        ):
            return Place.SCRATCH
        if bare in _TOPS or path in ("~", "$HOME") or bare in ("~", self.home) or (bare == path[:-2] and bare in _TOPS):
            return Place.TOP
        if _OWN_HOME.fullmatch(bare):
            return Place.TOP
        if _DEVICE.match(path):
            return Place.DEVICE
        if any(_below(path, top) for top in self.writable):
            return Place.WORKSPACE
        if _CACHE.search(named):
            return Place.CACHE
        if path[:1] == "~" or self._at_home(path) or _OWN_HOME.match(path):
            return Place.HOME
        if path.startswith(_SYSTEM) and any(_below(path, top) for top in _SYSTEM):
            return Place.SYSTEM
        if not self.workspace and _below(path, self.cwd):
            return Place.HERE
        return Place.OTHER

    def captured(self, folder: str) -> bool:
        """Whether a checkpoint of the workspace holds the files of this directory."""
        if not self.workspace:
            return False
        each = (self.absolute(folder), self.facts.real(self.absolute(folder)))
        return all(_below(path, self.workspace) and "/.git" not in path[len(self.workspace) :] for path in each)

    def _at_home(self, path: str) -> bool:
        """Whether the path is in the agent's home, which is no scratch space even where it lies in /tmp."""
        return bool(self.home) and _below(path, self.home)

    def is_protected(self, path: str) -> bool:
        """Whether the path is chaperon's own, or the hook settings of the CLI."""
        return any(_below(path, top) for top in self.protected) or _HOOK_SETTINGS.search(path) is not None

    def is_others(self, path: str) -> bool:
        """Whether a path is in the workspace of another agent, or holds one. Of a search it is where that begins."""
        top = path.partition("/{}")[0] or "/"
        return any(_below(top, other) or _below(other, top) for other in self.others)

    def is_kept(self, path: str) -> bool:
        """Whether a path outlives a container or is worth more than it.

        It is in another agent's workspace or holds one, it is the kernel's, or it is a secret.
        """
        return self.is_others(path) or _OF_THE_KERNEL.match(path) is not None or self.secret(path) != ""

    def guards(self, path: str) -> bool:
        """Whether the path, or what its links lead to, is chaperon's own or the hook settings of the CLI."""
        return any(map(self.is_protected, self._both(path)))

    def holds_protected(self, path: str) -> bool:
        """Whether something of chaperon's own, or the hook settings of the CLI, lies below the path."""
        return any(_below(top, path) for top in self.protected) or self._has_settings(path)

    def _has_settings(self, path: str) -> bool:
        """Whether a directory of the CLI's settings has hooks in it, as far as is known."""
        if not path.endswith("/.claude") or self._place(path) is Place.SCRATCH:
            return False
        names = self.facts.names(path)
        return not names or any(_HOOK_SETTINGS.search(f"{path}/{name}") for name in names)

    def is_own(self, path: str) -> bool:
        """Whether the path, or what its links lead to, is chaperon's own, which is not even read."""
        return any(_below(one, top) for one in self._both(path) for top in self.protected)

    def _both(self, path: str) -> set[str]:
        """The path, and where its links lead."""
        return {path, self.facts.real(path)}

    def secret(self, path: str) -> str:
        """Return the kind of secret that the path holds, or empty: never meant to be read by an agent."""
        for pattern, what in _SECRETS:
            if pattern.search(path):
                return what
        return ""

    def project_secret(self, path: str) -> bool:
        """Whether the path looks like a project's own secrets: `.env`, a private key."""
        return _PROJECT_SECRET.search(path) is not None

    def shown(self, path: str) -> str:
        """The path for people."""
        return path.replace(HERE + "/", "").replace(HERE, ".").replace(TMPDIR, "$TMPDIR")


_THROWN_AWAY = frozenset({Place.HOME, Place.SYSTEM, Place.STARTUP, Place.CACHE, Place.OTHER, Place.HERE})
"""Places of a container that are worth as little as its /tmp."""
_THEIRS = _THROWN_AWAY | {Place.SCRATCH}
"""Places of a container in which the workspaces of other agents may lie."""
_OF_THE_KERNEL = later(r"/(?:proc|sys)(?:/|$)")
"""Files by which the kernel is changed, which a container shares with its host, and control groups."""

_WORSE = {place: rank for rank, place in enumerate(Place)}


def _clean(path: object) -> str:
    if not isinstance(path, str) or not path:
        return ""
    return _normal(path[:MAX_PATH])


@lru_cache(maxsize=256)
def _normal(path: str) -> str:
    """Remembered: an agent's home, its workspace and chaperon's own paths come with each of its calls."""
    cleaned = posixpath.normpath(path)
    return cleaned[1:] if cleaned.startswith("//") else cleaned


def _below(path: str, top: str) -> bool:
    return path == top or (path.startswith(top) and (top == "/" or path[len(top) : len(top) + 1] == "/"))
