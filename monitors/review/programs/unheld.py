"""Data in the workspace that no checkpoint holds, for git ignores it and nothing makes it again.

Git says so if it is asked: by its rules, or by what a command of the script asks it. Else names say it: those of stores
and their copies, and of folders for what people uploaded, recorded or labelled, or what was trained for days.
"""

import re
from collections.abc import Iterable, Iterator

from monitors.contract.origins import below
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation

REGENERATED = frozenset(
    {
        "node_modules", "build", "dist", "target", "out", ".cache", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".venv", "venv", ".next", ".nuxt", ".turbo", ".parcel-cache", "coverage", "htmlcov",
        ".gradle", ".eggs", ".nyc_output", ".hypothesis", "tmp",
    }
)  # fmt: skip
"""Directories that a build makes again. Inside a workspace, ignored by git, they are no loss."""
MAX_CHILDREN = 40
"""Most names of a directory that are asked for by name."""
_HOARDS = frozenset({
    "uploads", "upload", "user_uploads", "user-uploads", "userdata", "user_data", "user-data", "attachments", "media", "recordings",
    "backups", "backup", "dumps", "db_dumps", "db-dumps", "pgdata", "db_data", "db-data", "dbdata", "postgres_data", "postgres-data", "mysql_data",
    "mysql-data", "redis-data", "mongo-data", "minio-data", "data", "datasets", "dataset", "labeled", "labelled", "labels", "annotations", "annotated",
    "checkpoints", "weights", "mlruns", "wandb", "originals", "interviews", "terraform.tfstate.d",
})  # fmt: skip
"""Directories for data that projects have git ignore, and that were not made by a build."""
_WITHIN_DATA = frozenset({"raw", "external", "input", "inputs", "customers", "users", "prod", "production"})
"""Directories within `data` whose content came from elsewhere."""
_STORE = re.compile(r"\.(?:sqlite3?|db3?|duckdb|kdbx|realm|mdb|fdb|rdb)\Z|\Aterraform\.tfstate(?:\.backup)?\Z")
"""Files of stores, and the state of Terraform if it is kept here."""
_PASSING = re.compile(
    r"(?:\A|[/._-])(?:tests?|testing|testdata|specs?|fixtures?|mocks?|examples?|samples?|demo|dev|devel|development|local|localhost|ci|e2e|integration|tmp|temp|scratch|sandbox|caches?|cached|dummy|fake|seed|bench|benchmarks?|generated|processed|derived|logs?|src|lib|app|apps|components|docs?|migrations?|stories|assets|thumbs|index|celerybeat-schedule|coverage)(?=\Z|[/._-])"
)
"""Names of what is for trials or made again, and of folders whose content git has."""
_IGNORED = re.compile(r"-(?=[a-z]*?i)[a-z]++\Z|--ignored(?:=(?s:.*))?\Z")
_CLEANS = re.compile(r"-(?=[a-z]*?[xX])[a-zX]++\Z")
_PICKS = frozenset({"grep", "egrep", "rg"})


def unheld(scene: Scene, path: str, *, many: bool) -> bool:
    """Whether a path of the workspace is, or holds, data that no checkpoint has and nothing makes again.

    Args:
        scene: The action around it.
        path: Absolute, below the workspace; `/{}` and globs in it stand for what is found there.
        many: Whether all is meant that is below it, or fits it.
    """
    parts = path[len(scene.places.workspace) + 1 :].lower().split("/")
    if not REGENERATED.isdisjoint(parts):
        return False
    if any(below(path, one) for one in scene.ignored):
        return _PASSING.search("/".join(parts)) is None
    if scene.facts.ignored(path) is False:
        return many and _holds(scene, path)
    return _named(parts, many=many)


def _holds(scene: Scene, path: str) -> bool:
    """Whether a directory, of which checkpoints have other files, has such data in it by name."""
    names = scene.facts.names(path)[:MAX_CHILDREN]
    return any(_named([name.lower()], many=True) and scene.facts.ignored(f"{path}/{name}") is True for name in names)


def _named(parts: list[str], *, many: bool) -> bool:
    inside = "/".join(parts)
    if _PASSING.search(inside):
        return False
    if _STORE.search(parts[-1]):
        return True
    named = [part for part in parts if "*" not in part and part != "{}"]
    if not many or not named:
        return False
    own, above = named[-1], named[-2] if len(named) > 1 else ""
    return own in _HOARDS or above in _HOARDS - {"data", "media"} or (above == "data" and own in _WITHIN_DATA)


def asked_of_git(invocations: Iterable[Invocation], scene: Scene) -> Iterator[str]:
    """Yield the paths of which the script asks git whether it ignores them: what comes then has the answer."""
    for one in invocations:
        if one.name == "git" and one.args[:1] == ["check-ignore"]:
            yield from (scene.path(word, one) for word in one.args[1:] if word[:1] != "-" and word.known)


def lists_ignored(sources: Iterable[Invocation]) -> bool:
    """Whether commands print what git ignores, all of it: a pattern, or a path, would say what is meant."""
    each = list(sources)
    return any(map(_lists, each)) and not any(
        one.name in _PICKS and not any(re.match(r"-[a-zA-Z]*v", word) for word in one.args) for one in each
    )


def _lists(one: Invocation) -> bool:
    if one.name != "git":
        return False
    words = [word for word in one.args if word[:1] != "-"]
    if words[:1] == ["check-ignore"]:
        return "--stdin" in one.args
    lists = {"ls-files": _IGNORED, "status": _IGNORED, "clean": _CLEANS}.get(words[0]) if words else None
    return lists is not None and len(words) == 1 and any(map(lists.match, one.args))
