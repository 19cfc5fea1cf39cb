"""Outcomes of calls beside the predictions of their reviews: when to check, and the issues that follow. A fold.

Two things are checked. First, whether the grounds of a review still held when the call had run: a script that was read
for it, a file that a tool was to write. Second, if only this agent works there, whether files changed that the review
did not predict: in a worktree that was made for it, for a call whose review names every file, and that ran alone and
beside no command in the background. Elsewhere a change cannot be attributed: it may be another agent's, an editor's, a
build's.
"""

from monitors.contract.issues import Issue
from monitors.contract.words import Decision
from monitors.review.prediction import in_changes, is_predicted
from supervisor.protocol.commands import LookAtChanges, LookAtGrounds
from supervisor.protocol.events import ChangesSeen, ReviewMade

Look = LookAtChanges | LookAtGrounds


class PredictedChanges:
    """The calls of one agent that run.

    Args:
        workspace: The agent's workspace.
        own: Whether it was made for the agent, so that no other process changes anything there.
    """

    def __init__(self, workspace: str, *, own: bool) -> None:
        self._workspace = workspace
        self._own = own
        self._running: dict[str, ReviewMade] = {}
        self._beside: set[str] = set()
        """Calls that ran at the same time as others, or beside commands in the background."""
        self._told: set[str] = set()
        self._due: list[Look] = []

    def reviewed(self, made: ReviewMade, *, beside: bool) -> None:
        """A call is about to run, or is not.

        Args:
            made: What the gate said.
            beside: Whether commands of the agent run in the background.
        """
        id_ = made.action.tool_use_id
        if made.review.decision is Decision.BLOCK or not id_:
            return
        self._running[id_] = made
        if len(self._running) > 1 or beside:
            self._beside.update(self._running)
        elif self._own and is_predicted(made.review):
            self._due.append(LookAtChanges(self._workspace))

    def returned(self, id_: str, *, failed: bool) -> None:
        """A call has run."""
        made = self._running.pop(id_, None)
        alone = id_ not in self._beside
        self._beside.discard(id_)
        if made is None:
            return
        if made.review.grounds:
            self._due.append(
                LookAtGrounds(id_, made.review, made.review.updated_input or made.action.input, not failed)
            )
        if self._own and alone and is_predicted(made.review):
            self._due.append(LookAtChanges(self._workspace, id_, made.review))

    def turn_ended(self) -> None:
        """Nothing runs any more."""
        self._running.clear()
        self._beside.clear()

    def take(self) -> list[Look]:
        """The looks that are due."""
        due, self._due = self._due, []
        return due

    def seen(self, event: ChangesSeen, made: ReviewMade, seq: int) -> list[Issue]:
        """Return an issue for changes that the call's review did not predict; each path counts once in a run."""
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
