"""Things that a script has made itself, and clusters of this machine to which it has turned: their loss is a nuisance.

What it then takes away again by the same program, and by the same name, was its own.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile

from monitors.contract.actions import Origin
from monitors.review.scene.places import ActionPlaces, Place
from monitors.review.shell.invocation import Arg, Invocation
from monitors.review.shell.state.copying import CLONE_VALUES
from monitors.review.verdict.scopes import LOCAL_CLUSTER, names_production

_MAKES = frozenset({"create", "launch", "add", "mb", "install", "mk", "make", "createdb", "clone"})
"""Verbs behind which the name of what is made stands; what is started was there before."""
_MAKERS = frozenset({"git", "createdb", "docker-compose", "podman-compose"})
_SAYS_SO = _MAKES | {"compose"}
"""Words of which one is in each command of another program that makes something, unless an option names it."""
_NAMES = frozenset({"--name", "--hostname", "--cluster-name", "--profile"})
"""Options whose value is the name of what is made."""
_NOUNS = frozenset({"pod", "pods", "ns", "namespace", "cluster", "clusters", "deployment", "deploy", "job", "volume", "container", "network", "svc", "service", "instance", "instances", "vm", "machine", "bucket", "database", "db", "worktree", "branch", "environment"})  # fmt: skip
"""Kinds of things, which stand beside their names."""
_TAKES = frozenset({"rm", "rb", "rmi", "remove", "delete", "destroy", "uninstall", "drop", "stop", "kill", "down", "purge", "undefine", "del"})  # fmt: skip
_MADE = frozenset({"container", "cluster", "cloud", "storage", "database", "hosting", "infrastructure", "messaging", "git_discard", "git_push", "git_change", "file_delete"})  # fmt: skip
"""Effects of which a script takes back what it has made."""
_FAMILY = {"oc": "kubectl", "k": "kubectl", "createdb": "postgres", "dropdb": "postgres", "incus": "lxc"}
_CLUSTERED = frozenset({"kubectl", "oc", "k", "helm", "helmfile", "skaffold", "kustomize", "istioctl", "linkerd", "cilium", "flux", "argocd"})  # fmt: skip
"""Programs that work on the cluster to which `kubectl` is turned."""
_HOST_FILE = re.compile(r"(?:kind|k3d|minikube|k3s)[\w./-]{0,80}\Z")
"""A file of settings that is named for a cluster of this machine."""
MADE = "/made:/"
"""Beginning of the name under which a run remembers what it has made."""
MAX_BY = 200
"""Longest text of a command that made something, in characters."""
MAX_MADE = 20
"""Most things made by one call that a run remembers."""


def takes_back(effect: str) -> bool:
    """Whether an effect is of the kind that may take back what was made."""
    return effect in _MADE


def own_things(
    invocations: Sequence[Invocation],
    places: ActionPlaces,
    past: Mapping[str, Origin],
    doubted: Collection[int] = frozenset(),
) -> tuple[frozenset[int], list[Origin]]:
    """Find the commands that take away what earlier ones made, or that work on a cluster of this machine.

    Args:
        invocations: The commands of the action, in their order.
        places: The places of the action.
        past: What earlier calls of the run have brought.
        doubted: The identities of commands that may have failed: what they were to make may be older.

    Returns:
        The identities of these commands, and what the action leaves to later calls.
    """
    made = {path.removeprefix(MADE): one for path, one in past.items() if path.startswith(MADE)}
    known, local, found = set(made), False, set[int]()
    for one in invocations:
        if one.name in _CLUSTERED or one.name in LOCAL_CLUSTER or one.name == "kubectx":
            turned = _turned(one)
            local = local if turned is None else turned
        tried = one.name == "git" and (bool(known) or not _TRIED.isdisjoint(one.args))
        if (
            ((local and one.name in _CLUSTERED) or (known and _takes_known(one, known, places)))
            and not names_production(one)
        ) or (tried and _of_trial(one, known, places)):
            found.add(id(one))
        if id(one) not in doubted and _may_make(one):
            known.update(_made(one, places))
        if tried:
            known.difference_update(_turned_away(one, places))
    fresh = known - set(made)
    last = set(_made(invocations[-1], places)) if fresh else set[str]()
    by = invocations[-1].text()[:MAX_BY] if last else ""
    return frozenset(found), [
        Origin(MADE + name, "made", by if name in last else "") for name in sorted(fresh)[:MAX_MADE]
    ]


_INIT_VALUES = (
    "-b",
    "--initial-branch",
    "--template",
    "--object-format",
    "--ref-format",
    "--separate-git-dir",
    "--shared",
)
_SET_ASIDE = frozenset({"reset", "clean", "checkout", "restore", "switch"})
"""Subcommands of git that lose files of a working tree, and nothing that another one has."""
_TRIED = _SET_ASIDE | {"push", "init", "clone", "remote", "config"}
"""Words of which one is in each command of git that may be about a repository made for trial, unless one is known."""


def in_scratch(word: Arg, at: str, places: ActionPlaces) -> bool:
    """Whether a word names a repository in scratch space, as a path or an address of one."""
    path = word.removeprefix("file://")
    named = path[:1] in "/.~" or word != path
    return word.known and named and places.place(places.absolute(path, at)) is Place.SCRATCH


def git_folder(one: Invocation, places: ActionPlaces) -> str:
    """The folder in which git works, by `-C` too."""
    folder = one.cwd or places.cwd
    for option, value in pairwise(one.args):
        folder = places.absolute(value, folder) if option == "-C" else folder
    return folder


def _repository(one: Invocation, places: ActionPlaces) -> str:
    """The folder of the repository that `git init`, or a clone of one of this machine, makes in scratch space."""
    named = one.operands((*CLONE_VALUES, *_INIT_VALUES, "-C"))
    at = git_folder(one, places)
    if named[:1] == ["init"]:
        folder = places.absolute(named[1], at) if len(named) > 1 else at
    elif named[:1] == ["clone"] and len(named) > 1 and in_scratch(named[1], at, places):
        own = named[1].rstrip("/").rpartition("/")[2].removesuffix(".git")
        folder = places.absolute(named[2] if len(named) > 2 else own, at)
    else:
        return ""
    return folder if places.place(folder) is Place.SCRATCH else ""


def _of_trial(one: Invocation, known: Collection[str], places: ActionPlaces) -> bool:
    """Whether git works in a repository that the run made in scratch space, or only on files that lie there."""
    at, named = git_folder(one, places), one.operands(("-C", "-c"))
    if {"--git-dir", "--work-tree"}.intersection(word.partition("=")[0] for word in one.args) or one.assignments:
        return False
    if named[:1] == ["push"] and len(named) > 1 and (in_scratch(named[1], at, places)):
        return True
    tops = (at[:end] for end in range(1, len(at) + 1) if at[end : end + 1] in ("", "/"))
    if known and any(f"git/repository {top}" in known for top in tops):
        return named[:1] != ["push"] or len(named) < 2 or re.match(r"[\w-]+\Z", named[1]) is not None
    return not _SET_ASIDE.isdisjoint(named[:1]) and places.place(at) is Place.SCRATCH


def _turned_away(one: Invocation, places: ActionPlaces) -> Iterator[str]:
    """Yield the repository that has been given a remote which is no trial."""
    named = one.operands(("-C", "-c", "-t", "-m"))
    if named[:2] in (["remote", "add"], ["remote", "set-url"]) or named[:1] == ["config"]:
        at = git_folder(one, places)
        if named[0] == "config" and not any("url" in word.lower() for word in named):
            return
        if not in_scratch(named[-1], at, places):
            yield f"git/repository {at}"


def _turned(one: Invocation) -> bool | None:
    """Whether a command turns later ones to a cluster of this machine; None if it turns them to none."""
    words = [word for word in one.args if word[:1] != "-"]
    if one.name in LOCAL_CLUSTER:
        return True if {"create", "start", "use-context", "kubeconfig"}.intersection(words[:2]) else None
    if "use-context" in words[:2] or (one.name == "kubectx" and words):
        name = words[-1]
        return name in LOCAL_CLUSTER or name.startswith(
            ("kind-", "k3d-", "docker-desktop", "rancher-desktop", "orbstack")
        )
    settings = one.assignments.get("KUBECONFIG")
    return True if settings is not None and settings.known and _HOST_FILE.search(settings) else None


def _family(one: Invocation) -> str:
    return _FAMILY.get(one.name, one.name)


def _compose(one: Invocation) -> str:
    """Return the project that a command of compose is about, by its files and names; empty for other commands."""
    if one.name not in ("docker-compose", "podman-compose") and one.args[:1] != ["compose"]:
        return ""
    before = takewhile(lambda word: word not in ("up", "down", "run", "create", "rm", "start"), one.args[1:])
    return f"compose/{' '.join(before)} in {one.cwd}"


def _may_make(one: Invocation) -> bool:
    """Whether a command may make something, which most do not."""
    return one.name in _MAKERS or not _SAYS_SO.isdisjoint(one.args) or one.has_long()


def _made(one: Invocation, places: ActionPlaces) -> Iterator[str]:
    """Yield the names of what a command makes."""
    words, family = one.args, _family(one)
    if compose := _compose(one):
        if not {"up", "run", "create", "start"}.isdisjoint(words):
            yield compose
        return
    if one.name == "git":
        if not {"init", "clone"}.isdisjoint(words) and (folder := _repository(one, places)):
            yield f"git/repository {folder}"
        named = [word for word in words if word[:1] != "-"]
        if named[:2] == ["worktree", "add"]:
            for word in _operands(words[2:], {"-b", "-B"})[:1]:
                yield from (f"git/{places.absolute(word, one.cwd)}", f"git/{word}")
        elif named[:1] == ["stash"] and (len(named) == 1 or named[1] in ("push", "save")):
            if not {"-a", "--all"}.isdisjoint(words):
                return  # it takes ignored files too, which no checkpoint has
            yield f"git/stash of {places.workspace}"
        return
    for at, word in enumerate(words):
        option, equals, value = word.partition("=") if word[:2] == "--" else ("", "", "")
        if option in _NAMES and (equals or at + 1 < len(words)):
            yield f"{family}/{value if equals else words[at + 1]}"
    if one.name == "createdb":
        yield from (f"{family}/{word}" for word in _operands(words)[-1:])
    for at, word in enumerate(words[:6]):
        if word in _MAKES:
            yield from (f"{family}/{name}" for name in _operands(words[at + 1 :]) if name.known and name not in _NOUNS)
            return


def _operands(words: list[Arg], taking: Collection[str] | None = None) -> list[Arg]:
    """Return the words that are no options; behind those named, or behind any, a word is its value."""
    found, skip = list[Arg](), False
    for word in words:
        if word[:1] == "-":
            skip = "=" not in word and (taking is None or word in taking)
        elif skip:
            skip = False
        else:
            found.append(word)
    return found


def _takes_known(one: Invocation, known: Collection[str], places: ActionPlaces) -> bool:
    """Whether all that a command names to be taken away was made before."""
    if compose := _compose(one):
        # What is started may have volumes of before, but for a project under a name of its own.
        whole = not {"-v", "--volumes"}.isdisjoint(one.args) and _NAMED_PROJECT.search(compose) is None
        return compose in known and not (whole and "COMPOSE_PROJECT_NAME" not in one.assignments)
    words, family = list(one.args), _family(one)
    if one.name == "git":
        named = [word for word in words if word[:1] != "-"]
        if named[:2] == ["worktree", "remove"]:
            return bool(named[2:]) and all(
                not {f"git/{places.absolute(word, one.cwd)}", f"git/{word}"}.isdisjoint(known) for word in named[2:]
            )
        return named[:2] == ["stash", "drop"] and named[2:] in ([], ["stash@{0}"], ["0"]) and f"git/stash of {places.workspace}" in known  # fmt: skip
    at = next((at for at, word in enumerate(words[:6]) if word in _TAKES), -1)
    things = [word for word in _operands(words[at + 1 :], _VALUES) if word not in _NOUNS]
    return bool(things) and all(word.known and f"{family}/{word}" in known for word in things)


_NAMED_PROJECT = re.compile(r"[ /](?:-p|--project-name)\b")
_VALUES = frozenset({"-n", "--namespace", "--context", "--kube-context", "--kubeconfig", "-t", "--time", "-s", "--signal", "-h", "-p", "-U", "--host", "--port", "--username", "--endpoint-url", "--region", "--profile", "--project", "--zone", "--timeout", "--grace-period"})  # fmt: skip
"""Options whose value names nothing that is taken away."""
