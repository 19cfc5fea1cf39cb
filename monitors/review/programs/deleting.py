"""Deleting: decided for each operand, and the worst counts."""

import re
from itertools import pairwise

from monitors.contract.actions import SideEffect
from monitors.review.programs.told import told
from monitors.review.programs.unheld import REGENERATED, lists_ignored, unheld
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect, severity_of
from monitors.review.scene.places import HERE, Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation
from monitors.review.shell.launch import listed
from monitors.review.shell.state.copying import OF_ITS_OWN

_IN_REPOSITORY = re.compile(
    r"/\.git(?:$|/(?:HEAD|index|packed-refs|(?:objects|refs|logs|worktrees|modules)(?:/(?s:.*))?)$)"
)
"""Files that make a directory a repository; its lock files are not among them."""


def deletes(
    scene: Scene, invocation: Invocation, word: Arg, *, recursive: bool, forced: bool, rewrite: str = ""
) -> Finding | None:
    """Return the finding for deleting the paths that the word names."""
    path = scene.path(word, invocation)
    if invocation.mounts and (shared := scene.mounted(word, invocation)):
        return deletes_path(
            scene, shared, invocation, recursive=recursive, forced=forced, glob=word.glob, through=word.endswith("/")
        )
    if invocation.inside and (scene.places.place(path) is Place.SCRATCH or in_own_container(invocation, path)):
        return Finding(
            "files.delete-scratch", levels.NOTED, "", effect=_effect(f"{path} in {invocation.inside}", levels.NOTED)
        )
    if invocation.inside:
        host = invocation.inside.startswith("host")
        many = recursive or (host and "{}" in path)
        whole = many and (path.count("/") < (4 if host else 3) or _STORED.match(path) is not None)
        whole = whole and not (host and _KEPT_FOR_A_WHILE.match(path))
        risk = levels.HARM if whole else levels.CARE if recursive else levels.NOTED
        return _found(
            "files.delete-elsewhere",
            risk,
            f"deletes {path} in {invocation.inside}",
            "Name exactly what is to go, and look at it first.",
            path,
            invocation,
        )
    if not word.known and (named := told(scene, word)):
        each = (
            deletes_path(
                scene, scene.places.absolute(one, invocation.cwd), invocation, recursive=recursive, forced=forced
            )
            for one in named
        )
        return max(filter(None, each), key=lambda found: (found.stop, found.risk, not found.undo), default=None)
    if not word.known and lists_ignored(word.source):
        return ignored_go("what git lists as ignored", invocation)
    if not word.known:
        word = next(listed(word.source), word)
        path = scene.path(word, invocation)
    if word[:2] == "{}" or (not word.known and word[:1] in "$`"):
        return _unknown(word, invocation, recursive=recursive and forced)
    through = word.endswith("/")  # names what a link leads to
    return deletes_path(
        scene, path, invocation, recursive=recursive, forced=forced, glob=word.glob, rewrite=rewrite, through=through
    )


_KEPT_FOR_A_WHILE = re.compile(r"/(?:var/(?:log|cache|tmp|crash)|tmp)(?:/|\Z)|~/\.cache/")
"""Folders of another machine that are cleaned as they fill."""
_STORED = re.compile(
    r"/(?:var/lib/(?:postgresql|mysql|mariadb|mongodb|redis|rabbitmq|elasticsearch|grafana|prometheus|influxdb|clickhouse|cassandra|neo4j|kafka|docker|gitlab|jenkins_home)|bitnami/\w+)(?:/data|/\d+/main)?(?:/\*)?\Z|/data(?:/[\w.-]{1,60}){0,3}/\*\Z"
    r"|/(?:volume\d{1,2}|mnt|media|nas|exports?|shares?|srv/(?:nfs|samba|shares?))(?:/[\w.-]{1,60}){1,4}/\*\Z"
)
"""Folders of a container or of another machine in which stores keep what they hold."""


def in_own_container(invocation: Invocation, path: str) -> bool:
    """Whether a path is in a container that is thrown away, and nothing below it is of this machine."""
    return invocation.inside.startswith(OF_ITS_OWN) and not any(
        inside and (inside == path or inside.startswith(path.rstrip("/") + "/"))
        for inside, _, fixed in invocation.mounts
        if not fixed
    )


def _guard_goes(place: Place, shown: str) -> Finding:
    """Return the finding for deleting chaperon's own files, by themselves or with their surroundings."""
    why, instead = (
        f"would delete the guard that watches this agent: {shown}",
        "Leave chaperon's files alone; ask a person.",
    )
    if place is not Place.PROTECTED:
        whole = ", a whole home, system or repository directory" if place is Place.TOP else ""
        why = f"would delete {shown}{whole}, and with it the guard that watches this agent"
        instead = "Name exactly what is to go."
    return Finding("chaperon.self-protection", 1.0, why, instead, effect=_effect(shown, 1.0), stop=True)


def deletes_path(
    scene: Scene,
    path: str,
    invocation: Invocation,
    *,
    recursive: bool,
    forced: bool,
    glob: bool = False,
    rewrite: str = "",
    through: bool = False,
) -> Finding | None:
    """The same for a path already worked out; `through` where what a link leads to is meant, and not the link."""
    place = scene.places.place(path) if through else scene.places.entry(path)
    shown = scene.places.shown(path)
    if place is Place.NOWHERE:
        return None
    scene.touch(path, "delete", entry=not through)
    if place is Place.PROTECTED or (recursive and scene.places.holds_protected(path)):
        return _guard_goes(place, shown)
    if place is Place.TOP or (
        place is Place.WORKSPACE and path in (scene.places.workspace, scene.places.workspace + "/.git")
    ):
        return _found(
            "files.delete-top",
            levels.DOOM if recursive or glob else levels.CARE,
            f"deletes {shown}, a whole home, system or repository directory",
            "Name exactly what is to go.",
            shown,
            invocation,
        )
    searched, found, _ = path.partition("/{}")
    if found and place in (Place.HOME, Place.OTHER) and scene.places.place(searched or "/") is Place.TOP:
        return _found(
            "files.delete-top",
            levels.CARE if not recursive and _spared(invocation) else levels.HARM,
            f"deletes what a search of {searched or '/'} finds, a whole home or system directory",
            "Search in the one directory that is meant.",
            shown,
            invocation,
        )
    if place is not Place.SCRATCH and _IN_REPOSITORY.search(path):
        return _found(
            "files.delete-repository",
            levels.CARE if scene.fresh(path.rpartition("/.git")[0]) else levels.HARM,
            f"deletes {shown}, in which git keeps the history",
            "Use git's own commands.",
            shown,
            invocation,
        )
    if place is Place.DEVICE:
        return _found(
            "files.delete-device", levels.HARM, f"deletes the device {shown}", "Leave devices alone.", shown, invocation
        )
    if place in (Place.SYSTEM, Place.STARTUP):
        return _found(
            "files.delete-system",
            levels.HARM,
            f"deletes {shown} of the system",
            "Let a person remove it, or the package manager.",
            shown,
            invocation,
        )
    if scene.places.secret(path):
        return _found(
            "files.delete-secret",
            levels.HARM,
            f"deletes {shown}, a key or a login that nothing brings back",
            "Let a person delete keys.",
            shown,
            invocation,
        )
    if place is Place.SCRATCH:
        return Finding("files.delete-scratch", levels.NOTED, "", effect=_effect(shown, levels.NOTED, reversible=True))
    if place is Place.WORKSPACE:
        many = recursive or glob or "/{}" in path
        return _in_workspace(scene, path, shown, invocation, recursive=recursive, many=many)
    if place is Place.CACHE:
        return _found("files.delete-cache", levels.MODERATE, "", "", shown, invocation)
    if scene.places.workspace:
        risk = levels.HARM
        return _found(
            "files.delete-outside",
            risk,
            f"deletes {shown}, outside the workspace, where no checkpoint reaches",
            "Delete only inside the workspace or in /tmp.",
            shown,
            invocation,
        )
    return _without_workspace(shown, path, invocation, recursive=recursive, forced=forced, glob=glob, rewrite=rewrite)


_PATTERNS = frozenset({"-name", "-iname", "-g", "--glob"})
_JUNK = frozenset({".ds_store", "thumbs.db", "desktop.ini", "._*", "*.pyc", "*.pyo", "*~", "*.swp", ".*.swp"})
"""Patterns of files that systems and editors leave everywhere, and make again."""


def _spared(invocation: Invocation) -> bool:
    """Whether what a search finds is moved, or is nothing but what programs leave behind and make again."""
    words = [word.lower() for one in (invocation, *invocation.input.source) for word in one.args]
    if invocation.name == "mv":
        return True
    sought = [after for option, after in pairwise(words) if option in _PATTERNS]
    return bool(sought) and all(pattern in _JUNK or pattern in REGENERATED for pattern in sought)


def _in_workspace(
    scene: Scene, path: str, shown: str, invocation: Invocation, *, recursive: bool, many: bool
) -> Finding:
    name = path.rsplit("/", 1)[-1]
    new = (path, "write") in scene.touches
    if (recursive and scene.facts.ignored(path) and name not in REGENERATED) or (
        not new and not scene.named_before(path, invocation) and unheld(scene, path, many=many)
    ):
        return ignored_go(shown, invocation, rewrite="trash" if recursive else "")
    if scene.places.project_secret(path) and not new:
        return _found(
            "files.delete-secret",
            levels.HARM,
            f"deletes {shown}, which projects have git ignore, so that no checkpoint has it",
            "Move it to /var/tmp instead.",
            shown,
            invocation,
        )
    risk = levels.HARM if recursive else levels.NOTED
    return Finding(
        "files.delete",
        risk,
        f"deletes {shown} and all below" if recursive else "",
        effect=_effect(shown, levels.NOTED, reversible=True),
        undo="files",
        elevated=invocation.elevated,
    )


def ignored_go(shown: str, invocation: Invocation, *, rewrite: str = "") -> Finding:
    """Return the finding for deleting what git ignores."""
    return Finding(
        "files.delete-ignored",
        levels.HARM,
        f"deletes {shown}, which git ignores and so no checkpoint has",
        "Move it to /var/tmp instead.",
        effect=_effect(shown, levels.HARM),
        rewrite=rewrite,
        elevated=invocation.elevated,
    )


def _without_workspace(
    shown: str, path: str, invocation: Invocation, *, recursive: bool, forced: bool, glob: bool, rewrite: str
) -> Finding:
    here = path.startswith(HERE + "/")
    if recursive and (forced or not here) and not (here and glob and "/{}" in path):
        harmless = rewrite if here and forced and not path.endswith("*") else ""
        return Finding(
            "files.delete-recursive", levels.HARM, f"deletes {shown} and all below, with nothing to bring it back", "Move it to /var/tmp, or delete single files by name.",
            effect=_effect(shown, levels.HARM), rewrite=harmless, elevated=invocation.elevated,
        )  # fmt: skip
    risk = levels.CARE if recursive else levels.MODERATE
    return _found(
        "files.delete-recursive" if recursive else "files.delete",
        risk,
        f"deletes {shown}" + (" and all below" if recursive else ""),
        "",
        shown,
        invocation,
    )


def _unknown(word: Arg, invocation: Invocation, *, recursive: bool) -> Finding:
    why = f"deletes what {word} stands for, which is not known" + (" and may be empty" if recursive else "")
    return _found(
        "files.delete-unknown",
        levels.HARM if recursive else levels.MODERATE,
        why,
        "Write the path out.",
        word,
        invocation,
    )


def _found(rule: str, risk: float, why: str, instead: str, shown: str, invocation: Invocation) -> Finding:
    return Finding(rule, risk, why, instead, effect=_effect(shown, risk), elevated=invocation.elevated)


def _effect(shown: str, risk: float, *, reversible: bool = False) -> SideEffect:
    return effect("file_delete", f"deletes {shown}", severity=severity_of(risk), reversible=reversible, target=shown)
