"""One declaration of how a person wants to go back, for the route, the journal's event and the command."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RollbackOptions:
    """How to go back. Without slots, because the event inherits from this and from `Event`."""

    files_only: bool = False
    """Whether the conversation stays as it is."""
    fresh: bool = False
    """Whether the conversation begins anew instead of going on from the checkpoint's position."""
    with_branch: bool = False
    """Whether the branch moves back as well."""
    unusual: bool = False
    """Whether a rollback of unusual size was confirmed."""
    text: str = ""
    """Text for the agent beside the fact."""


@dataclass(frozen=True, kw_only=True)
class RollbackRequest(RollbackOptions):
    """The target and the options of a rollback. The body of the route: closed to fields that it does not know."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's name, read once

    checkpoint: str

    def options(self) -> RollbackOptions:
        """Return how to go back, without where to."""
        return RollbackOptions(
            files_only=self.files_only,
            fresh=self.fresh,
            with_branch=self.with_branch,
            unusual=self.unusual,
            text=self.text,
        )
