"""Hooks of a repository: the scripts in `.chaperon/hooks/` of its main checkout, once a person trusts their content.

The digest is of all files of the folder. What is run is a copy with that digest, below the state directory, so that a
file which changes after it was looked at is not run. Blocking.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from host.durable import write_program
from host.plain_files import TooLargeError, read_plain

FOLDER = ".chaperon/hooks"

MOST_FILES = 64
"""Files of the folder: eight hooks and what they share."""

MOST_BYTES = 1_048_576
"""Bytes of all of them. A person cannot look through more."""

DIGEST_CHARACTERS = 60
"""Of the digest, after a prefix that tells it from one of settings: 240 bits of SHA-256."""


@dataclass(frozen=True, slots=True)
class HookScripts:
    """The folder of a repository's hooks as it was read."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Content of each file, by its name."""
    digest: str = ""
    """Names all of it; empty if there is nothing, or if it cannot be read."""
    problem: str = ""
    """The reason why none of it can run; empty if there is none."""

    def script(self, hook: str) -> str:
        """Return the name of the file for a hook, with any extension; empty if there is none."""
        return next((name for name in sorted(self.files) if hook in (name, name.partition(".")[0])), "")


def look_at_hooks(repository: Path) -> HookScripts:
    """Read the folder of hooks of a repository's main checkout."""
    folder = repository / FOLDER
    files: dict[str, bytes] = {}
    left = MOST_BYTES
    try:
        if folder.is_symlink() or not folder.is_dir():
            return HookScripts()
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names, and bounded right below
            if len(files) == MOST_FILES:
                return HookScripts(problem=f"{FOLDER} has over {MOST_FILES} files")
            content = read_plain(folder / name, left, links=False)
            left -= len(content)
            files[name] = content
    except TooLargeError:
        return HookScripts(problem=f"{FOLDER} has over {MOST_BYTES} bytes")
    except OSError as error:
        return HookScripts(problem=f"{FOLDER} cannot be read ({error})")
    return HookScripts(files, _digest(files) if files else "")


class RepositoryHooks:
    """Finds the hooks of repositories that may run.

    Args:
        copies: The folder of the copies that are run.
        trusted: Whether a person trusts content with this digest in a repository.
    """

    def __init__(self, copies: Path, trusted: Callable[[str, str], bool]) -> None:
        self._copies = copies
        self._trusted = trusted

    def program(self, repository: str, hook: str) -> str:
        """Return the path of a hook's copy; empty if the repository has none that may run.

        Raises:
            OSError: The copy could not be made.
        """
        found = look_at_hooks(Path(repository)) if repository else HookScripts()
        script = found.script(hook)
        if not script or not found.digest or not self._trusted(repository, found.digest):
            return ""
        return str(self._copy(found) / script)

    def _copy(self, found: HookScripts) -> Path:
        folder = self._copies / found.digest.removeprefix("hooks:")
        for name, content in found.files.items():
            path = folder / name
            if not path.is_file() or path.read_bytes() != content:
                write_program(path, content)
        return folder


def _digest(files: Mapping[str, bytes]) -> str:
    whole = sha256()
    for name, content in files.items():
        whole.update(sha256(os.fsencode(name)).digest() + sha256(content).digest())
    return f"hooks:{whole.hexdigest()[: DIGEST_CHARACTERS - 6]}"
