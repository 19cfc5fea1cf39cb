"""How often one agent was started again after its CLI had ended too early, and the launch that is due."""

from interventions.decisions import EndCause
from supervisor.core.timers import RETRY
from supervisor.protocol.claude.usage_limits import LimitNotice
from supervisor.protocol.events import AgentLaunched, AnyEvent, RecoveryChosen, StateChanged, TimerFired
from supervisor.protocol.words import AgentState


class Retries:
    """A fold over the journal. `supervisor.core.decisions.restart` decides whether another try is made."""

    def __init__(self) -> None:
        self.crashes = self.waits = 0
        self.due: RecoveryChosen | None = None
        """The restart that is due, until it is done."""
        self.over = False
        """Whether the wait is over."""
        self.began = False
        """Whether the CLI that was launched last has begun its session."""
        self.resets_at: float | None = None
        """When the usage limit ends by the CLI's last notice that it was reached, in Unix seconds."""

    def remember(self, event: AnyEvent) -> None:
        """Take in an event; those that do not bear on another try change nothing."""
        match event:
            case RecoveryChosen():
                self._chose(event)
            case AgentLaunched():
                self.began = False
            case StateChanged(after=state) if state is not AgentState.WAITING:
                self.due, self.began = None, self.began or state is AgentState.RUNNING
            case TimerFired(name=name) if name == RETRY:
                self.over = True
            case _:
                pass

    def _chose(self, event: RecoveryChosen) -> None:
        if event.recovery.cause is EndCause.CRASHED:
            self.crashes += 1
        else:
            self.waits += 1
        self.due, self.over = event, event.recovery.wait_seconds <= 0

    def noticed(self, notice: LimitNotice) -> None:
        """Keep the reset of a limit that was reached, until a notice says that calls are allowed again."""
        self.resets_at = notice.resets_at if notice.rejected else None

    def turn_ended(self, *, failed: bool) -> None:
        """A turn that succeeds shows that the service is there again."""
        if not failed:
            self.waits = 0

    def seconds_left(self, at: float) -> float:
        """Return the rest of the wait, in seconds.

        Args:
            at: Unix time now, in seconds: a reset is stated by the wall clock, and the machine may have been started
                anew since. A clock that was set makes the wait no longer than it was.
        """
        if self.due is None:
            return 0.0
        whole = self.due.recovery.wait_seconds
        return min(whole, max(0.0, self.due.at + whole - at))
