"""The section `notify`: how people are told of incidents."""

import re
from collections import Counter
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from monitors.contract.bounds import Pause
from supervisor.config.sections.base import Section


def _address(value: str) -> str:
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value):
        raise ValueError("this is no address; it begins with a service and ://, as in mailto://… or journal://")
    return value


class Channel(Section):
    """A way to tell people of incidents."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    """Its name in `interventions.kinds.emergency_stop.notification_channels` and in incidents: lower case letters,
    digits, hyphens and underscores."""
    url: Annotated[str, AfterValidator(_address)] = Field(repr=False)
    """Address in the form of apprise, which the `[notify]` extra brings, with its secrets; never shown. Examples:
    `mailto://…`, `slack://…`. `journal://` is the journal of systemd, and `desktop://` this desktop by notify-send:
    neither needs apprise."""
    min_severity: Literal["low", "medium", "high", "critical"] = "high"
    """Incidents below this are not sent."""
    approvals: bool = True
    """Whether it reports actions that wait for a person, which are no incidents. An action that gets its reply
    before the message is sent is left out."""
    ends: bool = True
    """Whether it reports agents that are done, and agents that wait to be told more, which are no incidents."""
    group_seconds: Pause = 10
    """How long after an incident others are gathered into the same message, in seconds."""
    digest_seconds: Pause = 600
    """How long they are gathered once five messages were sent within that time, in seconds: a digest instead of a
    storm. What is critical or waits for a reply is gathered for a minute at most. 0 makes no digests."""


class Notify(Section):
    """Notification of people about incidents, beside the incident log."""

    channels: Annotated[tuple[Channel, ...], Field(strict=False)] = ()
    """The channels."""
    panel: Annotated[str, Field(pattern=r"^(https?://\S+)?$")] = ""
    """The address at which you reach the panel, for links in messages; empty for none. Example:
    `http://127.0.0.1:8765`."""

    @model_validator(mode="after")
    def _told_apart(self) -> "Notify":
        for name, count in Counter(channel.name for channel in self.channels).items():
            if count > 1:
                raise ValueError(f"{count} channels are named {name!r}; give each a name of its own")
        return self
