"""The grounds of a review, and whether they still held when the action had run.

Between a review and the act a script can be replaced, and a link turned so that a file is written elsewhere. Neither
can be prevented without a sandbox. Both can be noticed, if only the swap explains the files that are found afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from monitors.contract.actions import Ground, Review
from monitors.review.languages.code.uses import MAX_CODE
from monitors.review.scene.lookups import FileLookups
from monitors.review.scene.scene import Scene

MAX_GROUNDS = 16
"""Most files listed for one review: a command names a script or two."""


@dataclass(frozen=True, slots=True)
class Shaken:
    """Grounds of a review that did not hold."""

    scripts: tuple[str, ...] = ()
    """Scripts that are not as they were reviewed."""
    elsewhere: tuple[str, ...] = ()
    """Files that a tool wrote, as the CLI says, and that are as they were before."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.scripts or self.elsewhere)


def digest(text: str) -> str:
    """The stamp of a script."""
    return sha256(text.encode(errors="replace")).hexdigest()[:32]


def of_script(scene: Scene, path: str, text: str | None) -> None:
    """Note that a script was read for the review; what is no text is a program."""
    if text is not None and "\0" not in text:
        _note(scene, Ground(scene.facts.real(path), "script", digest(text)))


def of_target(scene: Scene, path: str) -> None:
    """Note that a tool of the CLI is to write a file."""
    real = scene.facts.real(path)
    if stamp := scene.facts.stamp(real):
        _note(scene, Ground(real, "target", stamp))


def shaken(review: Review, given: Mapping[str, Any], facts: FileLookups, *, succeeded: bool) -> Shaken:
    """Check the grounds again, after the action has run.

    A script that the review predicted the action to write was not swapped, and a script that is gone may have removed
    itself. A file that a tool wrote is unchanged only if another file was written in its place, or if it had that very
    text already.

    Args:
        review: The review with its grounds.
        given: The input that the action ran with.
        facts: Access to the present state.
        succeeded: Whether the CLI reports success.
    """
    written = {touch.path for touch in review.touches if touch.access in ("write", "delete")}
    scripts, elsewhere = [], []
    for ground in review.grounds:
        text = facts.text(ground.path, MAX_CODE)
        if ground.kind == "script":
            if text is not None and ground.path not in written and digest(text) != ground.stamp:
                scripts.append(ground.path)
        elif succeeded and facts.stamp(ground.path) == ground.stamp and not _holds(text, given):
            elsewhere.append(ground.path)
    return Shaken(tuple(scripts), tuple(elsewhere))


def _holds(text: str | None, given: Mapping[str, Any]) -> bool:
    """Whether a file has the text that was to be written. A long text, or a notebook, is assumed to match."""
    wanted = next((given[name] for name in ("content", "new_string") if isinstance(given.get(name), str)), None)
    if text is None:
        return False
    return wanted is None or len(text) >= MAX_CODE or " ".join(wanted.split()) in " ".join(text.split())


def _note(scene: Scene, ground: Ground) -> None:
    if len(scene.grounds) < MAX_GROUNDS and ground not in scene.grounds:
        scene.grounds.append(ground)
