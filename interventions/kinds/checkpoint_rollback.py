"""Checkpoint rollback: files and conversation go back to a good moment, with guidance.

The target is decided here; the store restores. Interventions, limits in force and the detectors' memory stay: only
files and conversation are set back. A run that made no progress gets a fresh attempt: the files go back, and the
conversation begins anew with the lesson, since the old one leads to the same place.
"""

from interventions.contract import Case, GoodMoment, Plan, Unfit
from interventions.settings import CheckpointRollbackSettings
from interventions.texts import fields
from interventions.texts.soft_texts import OTHERWISE, SOFT_TEXTS
from interventions.words import InterventionKind

FRESH = frozenset({"no_progress", "text_loop"})
"""Types for which the conversation begins anew: it is itself what went wrong."""

LESSONS = 5
"""Steps that the guidance names as tried in vain; a longer list would be ignored."""


class CheckpointRollback:
    """Goes back to the newest moment that is safe for the issue."""

    name = "checkpoint_rollback"
    kind = InterventionKind.CHECKPOINT_ROLLBACK
    types: tuple[str, ...] = ()

    def __init__(self, settings: CheckpointRollbackSettings | None = None) -> None:
        self._settings = settings or CheckpointRollbackSettings()

    def plan(self, case: Case) -> Plan | Unfit:
        """The checkpoint and the guidance, or why there is none to go back to."""
        found = case.situation.checkpoints.before(case.issue, self._settings.max_rollback_depth)
        if isinstance(found, str):
            return Unfit(found)
        message = fields.cut(fields.OPENING + guidance(case, found), fields.MAX_TEXT)
        fresh = case.issue.type in FRESH
        return Plan(message, {"checkpoint": found.name, "depth": found.depth, "fresh": fresh, "guidance": message})


def guidance(case: Case, moment: GoodMoment) -> str:
    """Return the message to the agent after the rollback: events, causes, attempts, and other ways."""
    tried = [f"{step.tool} {step.summary}" for step in case.situation.history if step.failed][-LESSONS:]
    ways = SOFT_TEXTS.get(case.issue.type, OTHERWISE).ways
    lines = [
        f"The files were set back to the checkpoint {moment.name} ({moment.description}); what was done since is undone.",
        f"What went wrong: {case.issue.sentence}",
        *(["What was tried without success:", *(f"- {fields.cut(step, 160)}" for step in tried)] if tried else []),
        f"What to do instead: {ways[min(case.attempt, 2)]}",
        "Look at the files as they are now before you change them.",
    ]
    return "\n".join(lines)
