"""Images that are built here and run here: the command that their Dockerfile gives them, with what a run shows them."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from itertools import islice

from monitors.contract.expressions import later
from monitors.review.languages.project.recipes import MAX_RECIPES, Recipe
from monitors.review.shell.invocation import Invocation

_RUN_VALUES = frozenset(
    [
        "-e",
        "--env",
        "-u",
        "--user",
        "-w",
        "--workdir",
        "--env-file",
        "-v",
        "--volume",
        "-p",
        "--publish",
        "--name",
        "--network",
        "--net",
        "-m",
        "--memory",
        "--cpus",
        "-l",
        "--label",
        "-h",
        "--hostname",
        "--mount",
        "--device",
        "--add-host",
        "--restart",
        "--platform",
        "--pull",
        "--ulimit",
        "--tmpfs",
        "--gpus",
        "--ip",
        "--dns",
        "--cap-add",
        "--cap-drop",
        "--security-opt",
        "--log-driver",
        "--log-opt",
        "--volumes-from",
        "--cidfile",
        "--shm-size",
        "--pid",
        "--ipc",
        "--userns",
        "--uts",
        "--entrypoint",
    ]
)
_STARTS = later(r"^\s{0,9}(CMD|ENTRYPOINT)\s{1,9}(.{1,2000})$", re.MULTILINE | re.IGNORECASE)


def image_command(invocation: Invocation, files: Callable[[Invocation, str], str | None]) -> Iterator[Recipe]:
    """Yield what `docker run` starts in an image of this folder, if it is given no command of its own.

    Args:
        invocation: The command.
        files: The text of a file, if it is known.
    """
    words = invocation.operands(_RUN_VALUES)
    if (
        words[:1] != ["run"]
        or len(words) != 2
        or "/" in words[1]
        or any(word.startswith("--entrypoint") for word in invocation.args)
    ):
        return
    name = words[1].partition(":")[0]
    for file in (f"Dockerfile.{name}", f"{name}.Dockerfile", "Dockerfile", "Containerfile"):
        text = files(invocation, file)
        if text:
            started = {match[1].upper(): match[2].strip() for match in _STARTS.finditer(text)}
            given = [*_words(started.get("ENTRYPOINT", "")), *_words(started.get("CMD", ""))]
            if given:
                run = [invocation.name, *map(str, invocation.args), *given]
                yield Recipe("CMD", " ".join(map(shlex.quote, run)))
            return


_STEP = later(r"^[ \t]{0,9}RUN[ \t]{1,9}((?:[^\n\\]|\\\n|\\[^\n]){1,8000})", re.MULTILINE | re.IGNORECASE)
_STEP_OPTION = later(r"\A(?:--(?:mount|network|security)=\S{1,300}\s{1,9}){1,20}")
_BARE = later(r"\b(?:http|ftp)://|https://(?:\d{1,3}(?:\.\d{1,3}){3}|\[)")
"""Addresses whose host nothing vouches for: without TLS, or without a name."""


def image_steps(text: str) -> Iterator[Recipe]:
    """Yield what the making of an image runs."""
    for match in islice(_STEP.finditer(text), MAX_RECIPES + 1):
        step = _STEP_OPTION.sub("", match[1]).replace("\\\n", " ")
        command = shlex.join(_words(step)) if step[:1] == "[" else step
        yield Recipe("RUN", command, elsewhere=True, installs=not _BARE.search(step))


def _words(written: str) -> list[str]:
    """The words of a command: a list of JSON, or else a line for a shell."""
    if written[:1] == "[":
        try:
            return [word for word in json.loads(written) if isinstance(word, str)]
        except ValueError:
            return []
    return ["sh", "-c", written] if written else []
