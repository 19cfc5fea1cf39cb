"""Variables that change what a harmless command runs."""

import re
from collections.abc import Iterator
from itertools import pairwise

from monitors.contract.effects import EffectType
from monitors.review.checks.shells import downloads
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation

_LOADED = frozenset({"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "GCONV_PATH", "BASH_ENV", "ENV", "ZDOTDIR", "PERL5OPT", "PERL5DB", "PERLLIB", "PERL5LIB", "PYTHONSTARTUP", "PYTHONHOME", "RUBYOPT", "RUBYLIB", "LUA_INIT", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "OPENSSL_CONF", "LESSOPEN", "LESSCLOSE", "PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE", "R_PROFILE_USER", "JULIA_STARTUP", "ERL_AFLAGS", "ERL_FLAGS"})  # fmt: skip
"""Variables whose value is loaded or run by the program itself."""
_COMMANDS = frozenset({"PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "BAT_PAGER", "AWS_PAGER", "GH_PAGER", "DELTA_PAGER", "PSQL_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "SYSTEMD_EDITOR", "SUDO_EDITOR", "KUBE_EDITOR", "FCEDIT", "HGEDITOR", "SVN_EDITOR", "PSQL_EDITOR", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "BROWSER", "RSYNC_RSH", "CVS_RSH", "BORG_RSH", "BORG_PASSCOMMAND", "RESTIC_PASSWORD_COMMAND", "SHELL", "CARGO_TARGET_RUNNER", "RUSTC_WRAPPER", "TERMINAL", "MAILER", "LESSEDIT", "TAR_OPTIONS", "ZIPOPT", "PIP_EDITOR", "TEXEDIT", "FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS", "MAKEFLAGS", "NODE_OPTIONS", "ANSIBLE_VAULT_PASSWORD_FILE"})  # fmt: skip
"""Variables whose value names a command that the program runs."""
_USUAL = re.compile(
    r"(?:/usr/bin/|/bin/)?(?:cat|less|more|most|bat|delta|diff-so-fancy|vi|vim|nvim|view|nano|emacs|emacsclient|micro|hx|helix|code|subl|gedit|kate|ed|ex|true|false|:|echo|ssh|firefox|chromium|google-chrome|w3m|lynx|xdg-open|open|sccache|ccache|"
    r"bash|zsh|sh|fish|xterm|gnome-terminal)?(?:\s+-[\w=./:,@-]*|\s+[\w./@][\w./@-]*)*"
)
_CHANGES_PLAN = re.compile(
    r"sed -i(?:\.\w+)?(?: -e)? (['\"]?)\d*+,?\d*+s([/|#])[^;|&`$\n]{0,100}\2[^;|&`$\n]{0,100}\2[gI]?\1"
)
"""Commands that change the list of a rebase without a person at the keyboard."""
_UNUSUAL = re.compile(r"[;|&`$><(){}!]|ProxyCommand|LocalCommand|\s-c\b|-e\b|exec\b|/tmp/|\.\./|^\./")
MAX_USUAL = 300
"""Longest value that is taken for a usual one, in characters."""
_QUIET = frozenset({"NODE_OPTIONS", "MAKEFLAGS", "FZF_DEFAULT_OPTS", "TAR_OPTIONS"})
_NODE_LOADS = re.compile(
    r"--(?:require|import|loader|experimental-loader)\b|\s-r\b|^-r\b|--checkpoint-action|--eval|--to-command|--use-compress|execute|--inspect=0"
)
_SKIPS = re.compile(r"(?:HUSKY|HUSKY_SKIP_HOOKS|SKIP|PRE_COMMIT_ALLOW_NO_CONFIG|LEFTHOOK|OVERCOMMIT_DISABLE)\Z")
"""Variables by which the hooks of a project are passed over."""
_UNCHECKED = frozenset({("NODE_TLS_REJECT_UNAUTHORIZED", "0"), ("PYTHONHTTPSVERIFY", "0"), ("GIT_SSL_NO_VERIFY", "true"), ("GIT_SSL_NO_VERIFY", "1")})  # fmt: skip
_GIT_CONFIG = re.compile(r"GIT_CONFIG(?:_KEY_\d+|_VALUE_\d+|_PARAMETERS|_GLOBAL|_SYSTEM)?\Z")
_JAVA = frozenset({"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS"})
_JAVA_LOADS = re.compile(
    r"-(?:javaagent|agentlib|agentpath|Xrun|Xbootclasspath|cp|classpath|Djava\.class\.path)|-XX:On\w+Error|(?:^|\s)@|-XX:Flags|-Djava\.(?:security|system\.class\.loader)"
)
"""Options of the Java machine that load code or run a program; others set sizes and properties."""
_INDEXES = frozenset({"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "NPM_CONFIG_REGISTRY", "YARN_NPM_REGISTRY_SERVER", "BUNDLE_MIRROR__ALL", "GOPROXY", "CARGO_REGISTRY_INDEX", "HEX_MIRROR", "npm_config_registry"})  # fmt: skip
_FOREIGN = re.compile(r"http://(?!localhost\b|127\.0\.0\.1\b|\[::1\])")
"""An index that is asked without encryption; what a company's own is called is not known."""
_INSTEAD = "Run it without that variable."


def steers(name: str) -> bool:
    """Whether a variable of this name can make a harmless command load or run something else, whatever its value."""
    return name == "PATH" or name in _LOADED or name in _COMMANDS or _GIT_CONFIG.match(name) is not None


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Look at the variables set for a command."""
    runs = bool(invocation.program)
    if invocation.name == "git" and any(_SKIPS.match(name) for name in invocation.assignments):
        yield _careful("git.skip-checks", "skips the checks that the project asks for", "git_change")
    if not _UNCHECKED.isdisjoint(invocation.assignments.items()):
        yield _careful("environment.unchecked", "takes any machine for the one it calls itself", "network")
    for name, value in invocation.assignments.items():
        why = _why(name, value, scene)
        if why and not (name in _LIBRARIES and _builds_own(scene, invocation, value)):
            risk = levels.HARM if runs else levels.MODERATE
            details = f"sets {name}={value[:80]}, which {why}"
            yield Finding(
                "environment.runs",
                risk,
                details,
                _INSTEAD,
                effect=effect("environment", details, target=name),
                elevated=invocation.elevated,
            )


def _builds_own(scene: Scene, invocation: Invocation, value: Arg) -> bool:
    """Whether a program of the workspace is given libraries of the workspace, or of the system, that stood there.

    What the action, or an earlier call, has fetched is no library of one's own.
    """
    if "/" not in invocation.program or not value.known or invocation.elevated:
        return False
    if scene.places.of(invocation.program, invocation.cwd) is not Place.WORKSPACE:
        return False
    each = [scene.places.absolute(one, invocation.cwd) for one in re.split(r"[: ]", value) if one]
    return all(
        (scene.places.place(path) is Place.WORKSPACE or _SYSTEM_LIBRARY.match(path) is not None)
        and (path not in scene.past or scene.past[path].how in ("own", "made"))
        and not any(map(downloads, scene.within(path)))
        for path in each
    )


_LIBRARIES = frozenset({"LD_PRELOAD", "DYLD_INSERT_LIBRARIES"})
_SYSTEM_LIBRARY = re.compile(r"/(?:usr/)?lib(?:32|64)?/[\w.+/-]{1,200}\Z")


_AUTHOR = re.compile(r"GIT_(?:AUTHOR|COMMITTER)_(NAME|EMAIL)")
_NAMED = re.compile(r"[\"']?[^\W\d_a-z][\w'.-]{1,40}(?: [^\W\d_a-z][\w'.-]{0,40}){1,3}\s{0,3}(?:<|[\"']?\Z)")
"""A name as people have, of two words or more."""
_AT = re.compile(
    r"[\w.+-]{1,80}@(?!(?:[\w-]{1,60}\.){0,5}(?:example(?:\.\w{2,5})?|test|invalid|local|localhost|localdomain)\b|users\.noreply\.)[\w-]{1,60}(?:\.[\w-]{1,60}){1,5}|\[mail:[0-9a-f]{16}\]"
)
"""An address to which mail may come, or its mark in a masked record."""
_NOBODY = re.compile(r"\b(?:tests?|tester|testing|ci|bot|dev|user|you|your|author|jane doe|john doe|a u thor|c o mitter|fixture|dummy|nobody|noreply|no-reply)\b", re.IGNORECASE)  # fmt: skip
_WRITES_COMMITS = frozenset({"commit", "commit-tree", "tag", "merge", "revert"})


def in_name_of_another(scene: Scene, invocation: Invocation) -> Finding | None:
    """Return the finding for a commit that says a certain other person has made it, which no later look can tell.

    What is committed in a repository for trial, or for an author out of git or a variable, is let be.
    """
    words = invocation.args
    if _WRITES_COMMITS.isdisjoint(words[:6]):
        return None
    said = {
        name: str(value) for name, value in invocation.assignments.items() if value.known and _AUTHOR.fullmatch(name)
    }
    pairs = [[said.get(f"GIT_{who}_NAME", ""), said.get(f"GIT_{who}_EMAIL", "")] for who in ("AUTHOR", "COMMITTER")]
    settings = [word.partition("=") for before, word in pairwise(words) if before == "-c" and word.known]
    pairs.append([next((value for name, _, value in settings if name.lower() == f"user.{key}"), "") for key in ("name", "email")])  # fmt: skip
    for before, word in pairwise(("", *words)):
        whole = word if before == "--author" else word.partition("=")[2] if word.startswith("--author=") else ""
        pairs.append(list(whole.partition("<")[::2]))
    if not any(
        _NAMED.match(name) and _AT.search(mail) and not _NOBODY.search(f"{name} {mail}") for name, mail in pairs
    ):
        return None
    if scene.places.place(invocation.cwd or scene.places.cwd) is Place.SCRATCH:
        return None
    why = "commits in the name of another person"
    return Finding(
        "git.in-name-of", levels.HARM, why, "Commit as who you are; name others by Co-authored-by.", effect=effect("git_change", why)
    )  # fmt: skip


def _careful(rule: str, why: str, kind: EffectType) -> Finding:
    return Finding(rule, levels.CARE, why, _INSTEAD, effect=effect(kind, why))


def _why(name: str, value: Arg, scene: Scene) -> str:
    if not value and not value.source:
        return ""
    if name in _JAVA and not _JAVA_LOADS.search(value):
        return ""
    if name in _LOADED and not (name == "ENV" and "/" not in value):
        return (
            ""
            if name in ("LD_LIBRARY_PATH", "PERL5LIB") and not _suspect(value, scene)
            else "the program loads before anything else"
        )
    if name in _QUIET:
        return "makes the program load or run something else" if _NODE_LOADS.search(value) else ""
    if name in ("GIT_SEQUENCE_EDITOR", "GIT_EDITOR") and _CHANGES_PLAN.fullmatch(value):
        return ""
    if name.lower() == "npm_config_script_shell" and not _USUAL.fullmatch(value):
        return "names a command that the program will run"
    if name.upper() in _INDEXES and _FOREIGN.match(value):
        return "lets packages be installed from a place that nobody has looked at"
    if name in _COMMANDS and (len(value) > MAX_USUAL or _UNUSUAL.search(value) or not _USUAL.fullmatch(value)):
        return "names a command that the program will run"
    if name == "PATH" and _suspect(value, scene):
        return "lets programs be replaced by files that anybody may write"
    if _GIT_CONFIG.match(name) and re.search(
        r"core\.(?:pager|fsmonitor|sshcommand|hookspath|editor|askpass)|alias\.|diff\.external|ext::",
        value,
        re.IGNORECASE,
    ):
        return "makes git run a program"
    return ""


def _suspect(value: str, scene: Scene) -> bool:
    """Whether a search path has a place that every user can write to."""
    open_to_all = (*scene.places.scratch, "/dev/shm")  # noqa: S108 — named, never written to
    return any(entry in (".", "./") or entry.startswith(open_to_all) for entry in value.split(":") if entry)
