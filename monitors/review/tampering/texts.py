"""Texts of files that a call writes: what they take from the tests and checks that stood there, or forge of them."""

from collections.abc import Iterator

from monitors.review.rules.findings import Finding
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.tampering import evidence, signs
from monitors.review.tampering.changes import PROOFS_STAND, within


def findings(scene: Scene, path: str, before: str | None, after: str, *, whole: bool) -> Iterator[Finding]:
    """Yield the findings for what a file of the workspace then has.

    Args:
        scene: The action around it.
        path: Absolute.
        before: What goes: all that the file has, or the piece that is replaced; None if it is not known.
        after: What comes instead.
        whole: Whether that is all of the file.
    """
    if not scene.places.workspace or scene.places.place(path) is not Place.WORKSPACE:
        return
    name = within(scene, path)
    if before is None and whole and signs.stands(name, *PROOFS_STAND):
        before = scene.facts.text(path, signs.MAX_TEXT)
        before = None if before is None or max(len(before), len(after)) >= signs.MAX_TEXT else before
    yield from signs.findings(signs.TextChange(name, before or "", after, known=before is not None))
    yield from evidence.written(name, before or "", after, scene.commands, whole=whole)
