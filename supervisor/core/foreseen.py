"""Whether calls change the files that their reviews foretold: when the workspace is to be looked at, as a fold.

Only calls whose reviews name every file that they would change are looked after, and only those that ran alone:
of two at once nobody can say which changed what.
"""

from monitors.review.after import foretold, in_changes
from supervisor.protocol.actions import Review
from supervisor.protocol.commands import LookAtChanges
from supervisor.protocol.events import ChangesSeen, ReviewMade
from supervisor.protocol.issues import Issue
from supervisor.protocol.words import Decision


class Foreseen:
    """The calls of one agent that run.

    Args:
        workspace: Where it works.
    """

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._running: dict[str, Review] = {}
        self._beside: set[str] = set()
        """Calls that ran at the same time as others."""
        self._told: set[str] = set()
        self._due: list[LookAtChanges] = []

    def reviewed(self, made: ReviewMade) -> None:
        """A call is about to run, or is not."""
        id_ = made.action.tool_use_id
        if made.review.decision is Decision.BLOCK or not id_:
            return
        self._running[id_] = made.review
        if len(self._running) > 1:
            self._beside.update(self._running)
        elif foretold(made.review):
            self._due.append(LookAtChanges(self._workspace))

    def returned(self, id_: str) -> None:
        """A call has run."""
        review = self._running.pop(id_, None)
        alone = id_ not in self._beside
        self._beside.discard(id_)
        if review is not None and alone and foretold(review):
            self._due.append(LookAtChanges(self._workspace, id_, review))

    def turn_ended(self) -> None:
        """Nothing runs any more."""
        self._running.clear()
        self._beside.clear()

    def take(self) -> list[LookAtChanges]:
        """The looks that are due."""
        due, self._due = self._due, []
        return due

    def seen(self, event: ChangesSeen, made: ReviewMade, seq: int) -> list[Issue]:
        """What a look after a call found that its review did not foretell; each path counts once in a run."""
        new = [path for path in event.paths if path not in self._told]
        self._told.update(new)
        return [
            Issue(
                type=found.type,
                severity=found.severity,
                confidence=0.5,
                impact_factor=0.0,
                began=seq,
                sentence=f"{found.sentence} The call was {made.action.tool}.",
                evidence=(seq,),
                details={"paths": new[:20], "tool": made.action.tool},
                key=event.tool_use_id,
            )
            for found in in_changes(made.review, new)
        ]
