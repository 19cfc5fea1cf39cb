"""The processes of one agent: its launch, the position in their output, and their end. A fold over events."""

from supervisor.protocol.events import (
    AgentAdopted,
    AgentAttached,
    AgentExited,
    AgentLaunched,
    AgentVanished,
    AnyEvent,
    ErrorLineReceived,
    LaunchFailed,
    LinePassedOver,
    LineReceived,
)
from supervisor.protocol.identity import Identity

Ending = AgentExited | AgentVanished | LaunchFailed


class Processes:
    """Those of the last launch."""

    def __init__(self) -> None:
        self.launched = False
        self.identity: Identity | None = None
        """Their identity; None before they were launched, and for a CLI that was attached."""
        self.attached: AgentAttached | None = None
        """The CLI that came by its hooks, if chaperon did not start it."""
        self.greeted = False
        """Whether the CLI answered its first line, or began a turn."""
        self.unborn = False
        """Whether it was found that no process of it was ever started."""
        self.offset = 0
        """Position in the output at which reading resumes."""
        self.errors_offset = 0
        """The same of the error output."""
        self.ending: Ending | None = None
        """Their end, from which no step has followed yet."""

    def remember(self, event: AnyEvent) -> None:
        """Take in an event; those that do not bear on processes change nothing."""
        match event:
            case LineReceived() | LinePassedOver():
                self.offset = event.end
            case ErrorLineReceived():
                self.errors_offset = event.end
            case AgentLaunched():
                self.launched, self.unborn = True, False
                self.identity = event.identity
            case AgentAttached():
                self.launched, self.greeted, self.attached = True, True, event
            case AgentAdopted():
                self.unborn = event.outcome == "launched"
            case AgentExited() | AgentVanished() | LaunchFailed():
                self.ending = event
            case _:
                pass

    def forget(self) -> None:
        """They are gone, and others are to be launched in their place."""
        self.launched = self.greeted = False
        self.offset, self.errors_offset, self.ending, self.identity = 0, 0, None, None
