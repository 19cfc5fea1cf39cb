"""The types of side effects: what the reviewer says that an action would change, and what approval and limits go by.

The reviewer's tables and checks take these types and no others, which the type checker sees to, so that whatever
chooses among them (approval mode above all) cannot miss one. A reviewer of a plugin may name types of its own; those
count as changing something.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Literal, cast

EffectType = Literal[
    # Files.
    "file_write", "file_delete", "file_permission", "backup", "history", "log_write", "log_delete",
    # Programs.
    "process", "process_signal", "code_execution", "build", "system_call", "tool_call", "environment", "unknown",
    # The repository.
    "git_change", "git_config", "git_discard",
    # The machine.
    "account", "clipboard", "container", "desktop", "device", "guard", "kernel", "network_config", "network_listen",
    "package_install", "package_remove", "power", "print", "privilege", "schedule", "secret_write", "security",
    "service", "startup", "system_config",
    # Beyond the machine.
    "ci", "cloud", "cluster", "database", "forge", "git_push", "hosting", "infrastructure", "message", "messaging",
    "network_send", "publish", "storage", "web",
    # Reading.
    "database_read", "network", "secret_read",
]  # fmt: skip
"""Every type that the built-in reviewer gives."""

EffectGroup = Literal["files", "programs", "repository", "machine", "outside", "reading"]


@dataclass(frozen=True, slots=True)
class Effect:
    """The meaning of a type."""

    group: EffectGroup
    says: str
    """As a clause that completes "an action that …"."""


EFFECTS: Mapping[EffectType, Effect] = {
    "file_write": Effect("files", "writes or makes files"),
    "file_delete": Effect("files", "deletes files"),
    "file_permission": Effect("files", "changes who may read, write or run files"),
    "backup": Effect("files", "makes, changes or deletes backups"),
    "history": Effect("files", "changes a history of commands"),
    "log_write": Effect("files", "writes into logs of the system"),
    "log_delete": Effect("files", "deletes logs"),
    "process": Effect("programs", "runs programs or subagents"),
    "process_signal": Effect("programs", "ends or signals processes"),
    "code_execution": Effect("programs", "runs code that was downloaded, decoded or made on the way"),
    "build": Effect("programs", "builds, tests or generates by the project's own scripts"),
    "system_call": Effect("programs", "changes something else that a rule knows"),
    "tool_call": Effect("programs", "calls a tool of an MCP server, or one that is not known"),
    "environment": Effect("programs", "sets variables that decide what programs run"),
    "unknown": Effect("programs", "runs a program that is not known, with words that sound like a change"),
    "git_change": Effect("repository", "changes commits, branches or tags"),
    "git_config": Effect("repository", "changes the settings of git"),
    "git_discard": Effect("repository", "discards work that is not committed, or commits"),
    "account": Effect("machine", "changes users, groups, passwords or logins"),
    "clipboard": Effect("machine", "reads or sets the clipboard"),
    "container": Effect("machine", "runs, changes or removes containers, images and volumes"),
    "desktop": Effect("machine", "acts on the desktop of whoever is logged in"),
    "device": Effect("machine", "writes to disks and other devices"),
    "guard": Effect("machine", "touches chaperon's own files and processes"),
    "kernel": Effect("machine", "changes the running kernel"),
    "network_config": Effect("machine", "changes interfaces, routes, names or the firewall"),
    "network_listen": Effect("machine", "opens a port"),
    "package_install": Effect("machine", "installs packages"),
    "package_remove": Effect("machine", "removes packages"),
    "power": Effect("machine", "ends, restarts or suspends the machine"),
    "print": Effect("machine", "prints on paper"),
    "privilege": Effect("machine", "gains the rights of another user"),
    "schedule": Effect("machine", "leaves something to run at a later time"),
    "secret_write": Effect("machine", "writes keys, tokens or passwords"),
    "security": Effect("machine", "changes what protects the machine"),
    "service": Effect("machine", "starts, stops or changes services"),
    "startup": Effect("machine", "changes what runs at the next start of a shell, a session or the CLI"),
    "system_config": Effect("machine", "changes settings of the system"),
    "ci": Effect("outside", "starts or changes runs of continuous integration"),
    "cloud": Effect("outside", "changes resources of a cloud"),
    "cluster": Effect("outside", "changes a cluster"),
    "database": Effect("outside", "changes a database"),
    "forge": Effect("outside", "changes issues, requests, releases or settings of a forge"),
    "git_push": Effect("outside", "pushes commits, branches or tags"),
    "hosting": Effect("outside", "deploys to, or changes, a hosting service"),
    "infrastructure": Effect("outside", "applies or destroys infrastructure"),
    "message": Effect("outside", "sends messages to people or agents"),
    "messaging": Effect("outside", "changes queues and topics"),
    "network_send": Effect("outside", "sends data to other hosts"),
    "publish": Effect("outside", "publishes packages or images"),
    "storage": Effect("outside", "changes what a storage service holds"),
    "web": Effect("outside", "changes or deletes something at a web service"),
    "database_read": Effect("reading", "reads a database"),
    "network": Effect("reading", "asks other hosts for something"),
    "secret_read": Effect("reading", "reads keys, tokens or passwords"),
}

CHANGES = "changes_something"
"""The group of all groups but `reading`, and of types that are not known here."""

GROUPS: Mapping[str, str] = {
    CHANGES: "each type but those of `reading`, and each type that a plugin names",
    "files": "the types that change files",
    "programs": "the types that run or end programs",
    "repository": "the types that change the repository itself",
    "machine": "the types that change the machine",
    "outside": "the types that reach beyond the machine: most of it cannot be taken back",
    "reading": "the types that change nothing and may still tell too much",
}
"""Names that stand for several types, with what they stand for."""

ASK_FOR = (CHANGES, "network", "secret_read")
"""Types that approval mode `ask` asks for by default: each change, and readings whose result other hosts or the
model get."""


@cache
def meant_by(name: str) -> frozenset[str]:
    """Return the types that a type's, a group's or a family's name means; empty for none.

    Example: `network` means `network_send` too.
    """
    if name == CHANGES:
        return frozenset(type_ for type_, effect in EFFECTS.items() if effect.group != "reading")
    if name in GROUPS:
        return frozenset(type_ for type_, effect in EFFECTS.items() if effect.group == name)
    return frozenset(type_ for type_ in EFFECTS if type_ == name or type_.startswith(f"{name}_"))


def is_one_of(type_: str, names: Collection[str]) -> bool:
    """Whether a side effect's type is meant by one of the names; a plugin's type also by its own name and family."""
    if type_ in EFFECTS:
        return any(type_ in meant_by(name) for name in names)
    return CHANGES in names or any(type_ == name or type_.startswith((f"{name}_", f"{name}.")) for name in names)


def as_effect_type(name: str) -> EffectType:
    """Return a type that a user's rule or a plugin names: one of these, or one of its own, which has a dot in it.

    Raises:
        ValueError: It is neither.
    """
    if name not in EFFECTS and "." not in name:
        raise ValueError(
            f"there is no type of side effect {name!r}{_nearest(name, list(EFFECTS))}; one of your own has a dot in it"
        )
    return cast("EffectType", name)


def check_names(names: Iterable[str]) -> None:
    """Check names of types, groups and families, to choose side effects by; those of a plugin's own have a dot in them.

    Raises:
        ValueError: One means nothing.
    """
    for name in names:
        if not meant_by(name) and "." not in name:
            near = _nearest(name, [*GROUPS, *EFFECTS])
            raise ValueError(
                f"there is no type or group of side effects {name!r}{near}; a type of a plugin has a dot in it"
            )


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f" (there are: {', '.join(known)})"
