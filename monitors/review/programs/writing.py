"""Writing to a path, by whatever program: what it means depends on the place."""

import re

from monitors.review.programs.unheld import unheld
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect, severity_of
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation
from monitors.review.shell.launch import listed

_STARTUP_HINT = "Put the setting where only this project reads it, or ask the person to change it."


def writes(
    scene: Scene, invocation: Invocation, word: Arg, *, how: str = "writes", replaces: bool = False, over: bool = False
) -> Finding | None:
    """Return the finding for writing to the path, or for replacing the file or link there."""
    if not word.known:
        word = next(listed(word.source), word)
    shared = scene.mounted(word, invocation) if invocation.mounts else ""
    return writes_path(
        scene,
        shared or scene.path(word, invocation),
        known=word.known,
        how=how,
        elevated=invocation.elevated,
        inside="" if shared else invocation.inside,
        replaces=replaces,
        over=over,
    )


def writes_path(
    scene: Scene,
    path: str,
    *,
    known: bool = True,
    how: str = "writes",
    elevated: bool = False,
    inside: str = "",
    replaces: bool = False,
    over: bool = False,
) -> Finding | None:
    """The same for a path already worked out; `over` if nothing is left of the file that is there."""
    if inside.startswith("host ") and scene.places.place(path) is Place.STARTUP:
        _, rule, why, instead = _MEANING[Place.STARTUP]
        made = effect("startup", f"{how} {path} in {inside}", target=path)
        return Finding(rule, levels.HARM, f"{why} on {inside}: {path}", instead, effect=made, elevated=elevated)
    if inside:
        return Finding(
            "files.write-elsewhere",
            levels.NOTED,
            "",
            effect=effect("file_write", f"{how} {path} in {inside}", target=path),
        )
    place = scene.places.entry(path) if replaces else scene.places.place(path)
    if place is Place.NOWHERE:
        return None
    if place is Place.TOP:
        place = Place.SYSTEM if path == "/" else _into(scene, path)
    new = (path, "write") in scene.touches
    scene.touch(path, "write", entry=replaces)
    risk, rule, why, instead = _MEANING[place]
    if how == "empties" and place in (Place.SYSTEM, Place.HOME):
        risk, rule, why, instead = (
            levels.HARM,
            "files.empty",
            "takes away all that is in",
            "Look at it first, and copy it.",
        )
    if place in (Place.OTHER, Place.HOME) and scene.places.workspace:
        risk, rule, why, instead = (
            levels.HARM,
            "files.write-outside",
            "writes outside the workspace, where no checkpoint reaches",
            "Write inside the workspace or to /tmp.",
        )
    if (
        place is Place.WORKSPACE
        and not new
        and (how == "empties" or over)
        and _is_lost(scene, path, over=how != "empties")
    ):
        risk, rule, why, instead = (
            levels.HARM,
            "files.empty",
            "takes away all that is in a file that projects have git ignore",
            "Copy it to /var/tmp first.",
        )
    if how == "empties" and place is Place.WORKSPACE and _KEEPS_HISTORY.search(path):
        risk, rule, why, instead = (
            levels.HARM,
            "files.empty",
            "takes away what git keeps the history by",
            "Use git's own commands.",
        )
    if not known and place in (Place.HERE, Place.OTHER, Place.HOME):
        risk = levels.NOTED
    if place is Place.SYSTEM and (path == "/" or _VITAL.match(path)):
        risk = levels.HARM
    if place in (Place.OTHER, Place.HOME) and known and scene.places.secret(path):
        risk, rule, why, instead = (
            levels.HARM,
            "files.write-secret",
            "writes over a key or a login",
            "Choose another name.",
        )
    shown = scene.places.shown(path)
    made = effect(
        "file_write",
        f"{how} {shown}, {place.value}",
        severity=severity_of(risk),
        reversible=place in (Place.SCRATCH, Place.WORKSPACE),
        target=shown,
        mitigation=instead,
    )
    return Finding(
        rule,
        risk,
        f"{why}: {shown}" if why else "",
        instead,
        effect=made,
        undo="files" if place is Place.WORKSPACE and rule != "files.empty" else "",
        stop=place is Place.PROTECTED,
        elevated=elevated,
    )


def _is_lost(scene: Scene, path: str, *, over: bool) -> bool:
    """Whether what a file of the workspace holds is lost with it: no checkpoint has it, and nothing makes it again."""
    kept = scene.places.project_secret(path) or unheld(scene, path, many=False)
    return kept and (not over or scene.facts.kind(path) == "file")


_KEEPS_HISTORY = re.compile(r"/\.git/(?:HEAD|index|packed-refs|(?:objects|refs)/(?s:.*))\Z")
_VITAL = re.compile(
    r"/(?:etc|boot|efi|bin|sbin|lib|lib32|lib64|usr|root|proc|sys/fs/cgroup|var/log|var/lib/dpkg|var/lib/rpm|System|nix)(?:/|$)"
)
"""The parts of the system that hold its settings and its programs, and those that hold processes together.

A process that writes itself into another control group has left its agent's, and with it the agent's limits.
"""


def _into(scene: Scene, path: str) -> Place:
    """Return the place of a file that is written under its own name into a whole directory."""
    place = scene.places.place(path.rstrip("/") + "/x")
    return Place.SYSTEM if place is Place.TOP else place


_MEANING = {
    Place.SCRATCH: (levels.NOTED, "files.write", "", ""),
    Place.WORKSPACE: (levels.NOTED, "files.write", "", ""),
    Place.HERE: (levels.NOTED, "files.write", "", ""),
    Place.CACHE: (levels.NOTED, "files.write", "", ""),
    Place.HOME: (levels.NOTED, "files.write", "", ""),
    Place.OTHER: (levels.NOTED, "files.write", "", ""),
    Place.UNKNOWN: (levels.NOTED, "files.write", "", ""),
    Place.SYSTEM: (
        levels.CARE,
        "files.write-system",
        "changes a file of the system",
        "Write inside the workspace, and let a person install it.",
    ),
    Place.STARTUP: (
        levels.HARM,
        "files.write-startup",
        "changes what starts by itself or who may log in",
        _STARTUP_HINT,
    ),
    Place.TOP: (
        levels.HARM,
        "files.write-system",
        "writes over a whole directory's name",
        "Name a file inside the workspace.",
    ),
    Place.DEVICE: (
        levels.DOOM,
        "files.write-device",
        "writes straight to a device, over whatever is on it",
        "Write to an image file inside the workspace.",
    ),
    Place.PROTECTED: (
        1.0,
        "chaperon.self-protection",
        "would change the guard that watches this agent",
        "Leave chaperon's files alone; ask a person.",
    ),
}
