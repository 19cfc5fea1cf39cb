"""Scopes in which a loss is a nuisance: databases, stacks and clusters that are named as made for tests."""

import re
from dataclasses import replace

from monitors.review.rules import levels
from monitors.review.rules.findings import Finding
from monitors.review.shell.invocation import Invocation

SCOPED = frozenset({"database.lose", "database.drop", "database.redis", "database.mongo", "containers.volumes", "containers.destroy", "cluster.delete", "cluster.uninstall", "messaging.destroy"})  # fmt: skip
"""Rules whose harm is care in such a scope."""

_REHEARSAL = re.compile(
    r"(?:^|[\s._/=:@-])(?:tests?|testing|dev|devel|development|local|localhost|127\.0\.0\.1|ci|sandbox|e2e|scratch|tmp|temp|demo)(?=$|[\s._/:@-])",
    re.IGNORECASE,
)
_FOR_REAL = re.compile(
    r"(?:^|[\s._/=:@-])(?:prod|production|live|staging|stage|main|master|release)(?=$|[\s._/:@-])", re.IGNORECASE
)
_ENVIRONMENT = re.compile(r"(?:RAILS|RACK|NODE|APP|FLASK|MIX|DJANGO|GO|APPLICATION|DEPLOY)_ENV|ENV|ENVIRONMENT|STAGE")
_LOCAL = frozenset({"kind", "k3d", "minikube", "microk8s", "colima"})
"""Clusters that run on this machine, for development."""
MAX_TEXT = 2_000
"""Most characters of a command searched."""
_STATEMENT = re.compile(r"\s(?:drop|delete|truncate|select|alter|insert|update)\s", re.IGNORECASE)


def is_rehearsal(invocation: Invocation) -> bool:
    """Whether the command names a scope of tests or development, by its environment, its words or its host.

    Words of a statement do not count: the table of `drop table test` may be in use.
    """
    words = [word for word in invocation.args if not _STATEMENT.search(f" {word} ")]
    text = " ".join(words)[:MAX_TEXT]
    if _FOR_REAL.search(text):
        return False
    if invocation.name in _LOCAL or _REHEARSAL.search(text):
        return True
    return any(
        _ENVIRONMENT.fullmatch(name) and _REHEARSAL.search(value) for name, value in invocation.assignments.items()
    )


_OF_THE_MACHINE = (
    "permissions.", "files.write", "files.delete-system", "files.delete-scratch", "files.delete-outside",
    "files.startup-handed", "schedule.", "account.", "security.disable", "service.", "program.account",
)  # fmt: skip
"""Beginnings of the rules about places and settings of a machine."""
_STILL = frozenset({"files.write-device", "files.write-secret"})


def in_container(found: Finding) -> Finding:
    """Return the finding as it counts in a container: its files, accounts and services are thrown away with it."""
    if found.stop or found.rule in _STILL or not found.rule.startswith(_OF_THE_MACHINE):
        return found
    return replace(found, risk=min(found.risk, levels.MODERATE))
