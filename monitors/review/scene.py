"""What a review has at hand while it looks at one action."""

from dataclasses import dataclass

from monitors.review.facts import Facts
from monitors.review.places import Places
from monitors.review.rules import RuleBook
from monitors.review.settings import ReviewSettings
from monitors.review.shell.invocation import Arg, Invocation
from supervisor.protocol.actions import Touch


@dataclass(slots=True)
class Scene:
    """Settings, places and knowledge, and what is collected on the way."""

    settings: ReviewSettings
    places: Places
    facts: Facts
    book: RuleBook
    touches: dict[tuple[str, str], Touch]
    files: dict[str, str]
    """Files that the action itself writes with known text, by path."""

    def touch(self, path: str, access: str) -> None:
        """Note that the action would reach a path."""
        if len(self.touches) < MAX_TOUCHES:
            self.touches.setdefault((path, access), Touch(self.places.shown(path), access))

    def path(self, word: Arg, invocation: Invocation) -> str:
        """The absolute path that a word of the invocation names."""
        return self.places.absolute(word, invocation.cwd)


MAX_TOUCHES = 200
"""Most paths listed for one action; a person reads no more, and detectors need only their number."""
