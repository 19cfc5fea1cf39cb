"""Files of services and pods, by the rights over this machine that they give to containers."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from monitors.contract.expressions import later
from monitors.review.languages.project.recipes import MAX_TEXT, Recipe, shell_word

MAX_MOUNTS = 200
"""Most different mounts of one file of services or pods."""

_SERVICE_LINE = later(
    r"\s*(?:- +)?[\"']?(privileged|pid|network_mode|userns_mode|source|target|cap_add)[\"']?\s*:\s*[\"']?([^\"'#\n]{1,300})"
)
_MOUNT = later(r"\s*- +[\"']?([~/.$][^\"':#\s]{0,300}):(/[^\"'#\s]{0,300})")  # fmt: skip


def services(text: str) -> list[Recipe]:
    """Return what a compose file starts with rights over this machine, as the same said to `docker run`."""
    flags: set[str] = set()
    mounts: dict[str, None] = {}
    for line in _listed_apart(text.splitlines()):
        line = line[:1000]
        mount = _MOUNT.match(line)
        said = _SERVICE_LINE.match(line)
        if mount is not None:
            mounts[f"{mount[1]}:{mount[2]}"] = None
        elif said is not None and said[1] == "privileged" and said[2].strip() == "true":
            flags.add("--privileged")
        elif said is not None and said[1] in ("pid", "network_mode", "userns_mode") and said[2].strip() == "host":
            flags.add(f"--{said[1].partition('_')[0]}=host")
        elif said is not None and said[1] == "source" and said[2][:1] in "/~":
            mounts[f"{said[2].strip()}:/mounted"] = None
    return _started("services", flags, mounts)


def _started(name: str, flags: Iterable[str], mounts: Collection[str]) -> list[Recipe]:
    """Return the command that starts a container with these rights; none if there are none."""
    words = [*sorted(flags), *(word for mount in islice(mounts, MAX_MOUNTS) for word in ("-v", mount))]
    cut = f"a file with more than {MAX_MOUNTS} mounts" if len(mounts) > MAX_MOUNTS else ""
    return [Recipe(name, " ".join(["docker run", *map(shell_word, words), "image"]), cut=cut)] if words else []


_POD_LINE = later(
    r"\s*(?:- +)?[\"']?(privileged|hostPID|hostNetwork|hostIPC|path)[\"']?\s*:\s*[\"']?([^\"'#\n,}]{1,300})"
)


def pods(text: str) -> list[Recipe]:
    """Return what a manifest of a cluster starts with rights over a machine, as the same said to `docker run`."""
    flags: set[str] = set()
    mounts: dict[str, None] = {}
    if "hostPath" not in text and "privileged" not in text and "hostPID" not in text:
        return []
    for line in text[:MAX_TEXT].replace("{", "\n").replace("}", "\n").split("\n"):
        said = _POD_LINE.match(line[:1000])
        if said is None:
            continue
        value = said[2].strip()
        if said[1] == "privileged" and value == "true":
            flags.add("--privileged")
        elif said[1] == "hostPID" and value == "true":
            flags.add("--pid=host")
        elif said[1] == "path" and "hostPath" in text and value[:1] == "/":
            mounts[f"{value}:/mounted"] = None
    return _started("pod", flags, mounts)


def _listed_apart(lines: list[str]) -> Iterator[str]:
    """Yield the lines, and the items of a list that is written in one line as lines of their own."""
    for line in lines:
        yield line
        before, bracket, rest = line.partition("[")
        if bracket and before.rstrip()[-1:] == ":":
            for item in rest.rpartition("]")[0].split(",")[:50]:
                yield f"- {item.strip()}"
