"""Scopes in which a loss is a nuisance: databases, stacks and clusters that are named as made for tests."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from monitors.review.checks.trial import IN_USE, LOCAL_CONTEXT, TRIAL
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation, arg

SCOPED = frozenset({"database.lose", "database.drop", "database.redis", "database.mongo", "containers.volumes", "containers.remove-force", "containers.destroy", "cluster.delete", "cluster.uninstall", "infrastructure.destroy", "messaging.destroy", "cluster.evacuate", "storage.destroy", "unknown.destroys", "unknown.removes"})  # fmt: skip
"""Rules whose harm is care in such a scope."""

LOCAL_CLUSTER = frozenset({"kind", "k3d", "minikube", "microk8s", "colima", "ctlptl"})
"""Programs of clusters that run on this machine, for development."""
_LOCAL = LOCAL_CLUSTER | {"tflocal", "awslocal", "cdklocal", "samlocal", "pulumilocal", "localstack", "molecule", "kitchen", "tilt", "skaffold", "garden", "act", "wp-env", "ddev", "lando", "devcontainer", "devspace", "testcontainers"}  # fmt: skip
"""Programs that are there for what stands on this machine for development and is made again."""
MAX_TEXT = 2_000
"""Most characters of a command searched."""
_NO_NAME = re.compile(r"/(?:home|Users)/[^/\s:]+|(?<![\w.])/dev/")
"""Parts of paths that name a person or a device, and no scope: `/home/dev`."""
_NAMES_SCOPE = re.compile(
    r"(?:RAILS|RACK|NODE|APP|FLASK|MIX|DJANGO|GO|APPLICATION|DEPLOY)_ENV|ENV|ENVIRONMENT|STAGE|\w{0,40}(?:_URL|_URI|_DSN|_HOST|_DB|(?:DB|DATABASE|SQLITE)_(?:PATH|NAME|FILE))|PG(?:HOST|DATABASE)|\w{0,40}_SETTINGS(?:_MODULE)?"
)
"""Variables that name an environment, or a store."""
_DROPS_DATABASE = re.compile(
    r"\s*(?:drop|create)\s+(?:database|schema)\s+(?:if\s+(?:not\s+)?exists\s+)?[\"'`]?([\w-]{1,80})[\"'`]?(?:\s+cascade)?(?:\s+(?:with\s+\(force\)|(?:default\s+)?character\s+set|(?:default\s+)?charset|collate|owner|encoding|template)\b[^;]{0,100})?\s*\Z",
    re.IGNORECASE,
)
"""A statement that throws away a whole database or makes it, with the name of that."""
_STATEMENT = re.compile(r"\s(?:drop|delete|truncate|select|alter|insert|update)\s", re.IGNORECASE)


def is_rehearsal(invocation: Invocation) -> bool:
    """Whether the command names a scope of tests or development, by its environment, its words or its host.

    Words of a statement do not count: the table of `drop table test` may be in use.
    """
    words = [word for word in invocation.args if not _STATEMENT.search(f" {word} ")]
    stated = [word for word in invocation.args if _STATEMENT.search(f" {word} ")]
    said = {name: value for name, value in invocation.assignments.items() if _NAMES_SCOPE.fullmatch(name)}
    text = _NO_NAME.sub(" ", " ".join([*words, *said.values(), *invocation.inside.split()])[:MAX_TEXT])
    if IN_USE.search(text):
        return False
    if (
        invocation.name in _LOCAL
        or LOCAL_CONTEXT.search(text)
        or TRIAL.search(text)
        or ":memory:" in words
        or (invocation.name == "xcrun" and words[:1] == ["simctl"])
        or _aside(invocation)
    ):
        return True
    return bool(stated) and all(map(_of_rehearsal, stated))


def _of_rehearsal(statements: str) -> bool:
    """Whether all that the statements throw away are databases whose names say that they are for tests."""
    each = [statement for statement in statements[:MAX_TEXT].split(";") if statement.strip()]
    found = [_DROPS_DATABASE.match(statement) for statement in each]
    return bool(found) and all(one is not None and TRIAL.search(f" {one[1]} ") for one in found)


def _aside(invocation: Invocation) -> bool:
    """Whether a store of this machine is meant that is not the usual one: another port, or a numbered database."""
    if invocation.name not in ("redis-cli", "valkey-cli", "keydb-cli") or {"-h", "-u"}.intersection(invocation.args):
        return False
    given = dict(pairwise(invocation.args))
    return given.get(arg("-p"), "6379") != "6379" or given.get(arg("-n"), "0") != "0"


SHARED = frozenset({"cloud", "cluster", "container", "infrastructure", "hosting", "database", "storage", "backup", "messaging", "forge"})  # fmt: skip
"""Effects of programs that keep what others use, or what nothing brings back."""
_PRODUCTION = re.compile(
    r"(?:\A|[-_./:=@,{$#\s])(?:prod|production)\d{0,3}(?:\Z|[-_./:@,}\s])|(?<=\w)[-_]live(?:\Z|[./:@,\s])",
    re.IGNORECASE,
)
_SELECTS = frozenset({"select", "use-context", "set-context", "switch", "use", "target", "set", "checkout", "activate"})
"""Subcommands by which a program is told what all later calls of it are about."""
_CHANGES = frozenset({"apply", "deploy", "sync", "rollout", "up", "upgrade", "update", "install", "set", "scale", "restart", "patch", "promote", "migrate", "migration", "release", "run", "trigger", "submit", "publish", "push", "replace", "edit", "create", "import", "start", "invoke", "reload", "resize", "failover", "switchover", "redeploy", "rebuild", "rollback", "cutover", "modify", "change", "put", "down", "stop", "kill", "rm", "remove", "pause", "recreate"})  # fmt: skip
"""Verbs by which a program of others' machines changes them, in part or whole."""
_REHEARSES = re.compile(
    r"--(?:dry-?run|check|plan|what-?if|preview|noop|no-op|diff|validate-only|no-execute-changeset|help|list-tasks|list-hosts|syntax-check)(?:=(?!none|false).*)?\Z"
)


def names_production(invocation: Invocation, selected: Collection[str] = ()) -> bool:
    """Whether the command names what is in production, by its words, its variables or the machine that it runs on.

    Args:
        invocation: The command.
        selected: Programs that an earlier command of the same script has turned to production.
    """
    words = [
        word for word in invocation.args if word[:1] != "-" or "=" in word or word.startswith(("--prod", "--live"))
    ]
    said = [f"={value}" for name, value in invocation.assignments.items() if name != "NODE_ENV"]
    text = " ".join([*words, *said, *invocation.inside.split()])[:MAX_TEXT].replace("--prod", " prod")
    if _PRODUCTION.search(text) is not None or invocation.name in selected:
        return True
    return any(_gives_live(one) for word in invocation.args if word.source for one in word.source)


def _gives_live(one: Invocation) -> bool:
    """Whether a command prints where what is in production stands, as hosts of applications keep it."""
    text = " ".join(one.args)[:MAX_TEXT]
    if one.name in _HOSTS and _SETTINGS.search(text):
        return _FOR_OTHERS.search(text) is None and TRIAL.search(text) is None
    return one.name in _KEEPERS and _PRODUCTION.search(text.replace("/", " ")) is not None


_HOSTS = frozenset({"heroku", "scalingo", "railway", "render", "fly", "flyctl", "dokku", "clever", "northflank"})
"""Programs of those who run applications for others."""
_KEEPERS = frozenset(
    {"aws", "gcloud", "az", "vault", "doppler", "op", "kubectl", "chamber", "infisical", "pass", "gopass"}
)
"""Programs that keep logins."""
_SETTINGS = re.compile(r"\b(?:config|config:get|env|env-get|variables|credentials|pg:credentials:url|secrets)\b")
_FOR_OTHERS = re.compile(r"(?:\b|_)(?:staging|stage|stg|review|preview|qa|uat)(?:\b|_)", re.IGNORECASE)


def changes_production(invocation: Invocation, operands: Sequence[str], selected: Collection[str]) -> bool:
    """Whether a program that keeps what others use is told to change what is in production."""
    verbs = {piece.lower() for word in operands[:4] if len(word) <= 40 for piece in re.split(r"[:_-]", word)}
    if "sync" in verbs and "://" in " ".join(operands[:-1]) and "://" not in operands[-1]:
        return False  # it copies to this machine
    if verbs.isdisjoint(_CHANGES) or any(map(_REHEARSES.match, invocation.args)):
        return False
    return names_production(invocation, selected)


_RUNNERS = frozenset({"make", "gmake", "just", "task", "npm", "pnpm", "yarn", "bun", "rake", "invoke", "inv", "mage", "nx", "turbo", "gradle", "gradlew", "mvn", "mvnw", "mix", "rails", "bundle", "poetry", "hatch", "composer", "artisan", "php", "ant", "sbt"})  # fmt: skip
"""Programs that run a task of the project by its name."""
_DEPLOYS = frozenset({"deploy", "deploys", "deployment", "release", "promote", "rollout", "ship", "migrate", "rollback", "cutover", "failover"})  # fmt: skip
_ONLY_LOOKS = frozenset({"check", "checks", "plan", "status", "diff", "dry", "preview", "lint", "validate", "verify", "test", "tests", "build", "list", "ls", "show", "logs", "log", "notes", "history", "help", "version", "info", "config", "docs", "prepare", "generate"})  # fmt: skip
"""Parts of the names of tasks and scripts that say that production is only looked at, or something is made for it."""


_PACKERS = frozenset({"mix", "gradle", "gradlew", "mvn", "mvnw", "sbt", "ant"})
"""Programs of these by which a release is packed, and goes nowhere."""


def deploys_to_production(invocation: Invocation, operands: Sequence[str], *, known: bool) -> bool:
    """Whether a task or a script of the project is told to deploy or migrate, and that it is in production.

    Args:
        invocation: The command.
        operands: Its words that are no options.
        known: Whether it is known what the program does.
    """
    if known and invocation.name not in _RUNNERS:
        return False
    named = [word for word in operands[:4] if len(word) <= 60 and "://" not in word]
    if not known and invocation.program:
        named.append(invocation.name)
    pieces = {piece.lower() for word in named for piece in re.split(r"[:_./=-]", word)}
    if invocation.name in _PACKERS:
        pieces.discard("release")
    if _DEPLOYS.isdisjoint(pieces) or not _ONLY_LOOKS.isdisjoint(pieces) or any(map(_REHEARSES.match, invocation.args)):
        return False
    return names_production(invocation)


def turned_to_production(invocation: Invocation) -> bool:
    """Whether a program is told that its later calls are about production."""
    return not _SELECTS.isdisjoint(invocation.args[:4]) and names_production(invocation)


_OF_THE_MACHINE = (
    "permissions.", "files.write", "files.delete-system", "files.delete-scratch", "files.delete-outside",
    "files.startup-handed", "schedule.", "account.", "security.disable", "service.", "program.account", "packages.install-local",
)  # fmt: skip
"""Beginnings of the rules about places and settings of a machine."""
_ABOUT_FILES = ("permissions.", "files.")
_STILL = frozenset({"files.write-device", "files.write-secret"})


def in_container(found: Sequence[Finding], scene: Scene) -> list[Finding]:
    """Return findings as they count in a container: its files, accounts and services are thrown away with it.

    Those about files count in full if the action writes something that is not thrown away.
    """
    targets = [one.effect.target for one in found if one.effect is not None and one.effect.target[:1] == "/"]
    written = [touch.path for touch in scene.touches.values() if touch.access != "read"]
    kept = any(map(scene.places.is_kept, (*targets, *written)))
    return [_in_container(one, kept=kept) for one in found]


def _in_container(found: Finding, *, kept: bool) -> Finding:
    if found.stop or found.rule in _STILL or not found.rule.startswith(_OF_THE_MACHINE):
        return found
    if kept and found.rule.startswith(_ABOUT_FILES):
        return found
    return replace(found, risk=min(found.risk, levels.MODERATE))
