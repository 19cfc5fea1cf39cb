"""The screens of one agent: its timeline, and the content of its changes. Text of others is never markup here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Footer, RichLog, Static

from monitors.contract.errors import ChaperonError
from supervisor.cli.client import wait_for
from supervisor.cli.commands.agents.checkpoints import checkpoint_path
from supervisor.cli.commands.agents.diff import COLOURS, patch_lines
from supervisor.cli.commands.agents.rollback import plan_lines
from supervisor.cli.common import agent_path
from supervisor.cli.following import events
from supervisor.cli.output import terminal
from supervisor.cli.output.view import View
from supervisor.cli.output.words import clean
from supervisor.protocol.plain import harmless
from supervisor.top.reading import Connect

LATEST = 2_000
"""Events before the present from which a timeline is made."""

BACK = [
    Binding("escape,q", "app.pop_screen", "Back"),
    Binding("j", "scroll(1)", "Down", show=False),
    Binding("k", "scroll(-1)", "Up", show=False),
]


class LogScreen(Screen[None]):
    """A title, and lines that are scrolled.

    Args:
        connect: Returns a client of the daemon.
        agent: The agent's name.
    """

    BINDINGS = BACK  # type: ignore[assignment] # textual's own type is wider

    title_of = ""

    def __init__(self, connect: Connect, agent: str) -> None:
        super().__init__()
        self._connect, self._agent = connect, agent

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Static(f"{self.title_of} {clean(self._agent, 60)}", markup=False, classes="head")
        yield RichLog(wrap=True, markup=False, highlight=False)
        yield Footer()

    def on_mount(self) -> None:
        """Ask for the lines."""
        self.query_one(RichLog).focus()
        self.load()

    def action_scroll(self, by: int) -> None:
        """Scroll by a line."""
        self.query_one(RichLog).scroll_relative(y=by, animate=False)

    @work(thread=True, exclusive=True)
    def load(self) -> None:
        """Ask for the lines in a thread."""
        try:
            lines = self.read()
        except ChaperonError as error:
            lines = [Text(harmless(str(error)))]
        self.app.call_from_thread(self.put, lines)

    def put(self, lines: list[Text]) -> None:
        """Show the lines."""
        log = self.query_one(RichLog)
        log.clear()
        for line in lines or [Text("Nothing.")]:
            log.write(line)

    def read(self) -> list[Text]:
        """Return the lines; raises like `Client.get`."""
        raise NotImplementedError


class TimelineScreen(LogScreen):
    """The steps of an agent."""

    title_of = "Timeline of"

    def read(self) -> list[Text]:
        """Return a line for each step, in the words of `chaperon tail`."""
        daemon = self._connect()
        last = int(daemon.get("/v1/health")["last_event"])
        view, made = View(width=max(40, self.size.width - 4)), []
        for one in events(daemon, wait_for, agent=self._agent, after=max(0, last - LATEST)):
            made += [Text.from_ansi(terminal.harmless(line)) for line in view.lines(one.record)]
        return made


class PlanScreen(LogScreen):
    """The plan of going back to a checkpoint, from which it can be agreed to.

    Args:
        connect: Returns a client of the daemon.
        agent: The agent's name.
        checkpoint: Where it would go back to.
        agree: Asks for the confirmation, and goes back: the agent, and the plan that was read.
    """

    BINDINGS = [*BACK, Binding("a", "agree", "Go back")]  # noqa: RUF012 - as above

    title_of = "Plan of going back, for"

    def __init__(
        self, connect: Connect, agent: str, checkpoint: str, agree: Callable[[str, Mapping[str, Any]], None]
    ) -> None:
        super().__init__(connect, agent)
        self._checkpoint, self._agree = checkpoint, agree
        self._plan: dict[str, Any] | None = None

    def read(self) -> list[Text]:
        """Return the lines of the plan, in the words of `chaperon rollback`."""
        self._plan = plan = self._connect().post(
            f"{checkpoint_path(self._checkpoint)}/plan", {"agent": self._agent, "with_branch": False}
        )
        lines = [Text.from_ansi(terminal.harmless(line)) for line in plan_lines(plan)]
        return [*lines, *([Text(harmless(str(plan["unusual"])), style="bold")] if plan["unusual"] else [])]

    def action_agree(self) -> None:
        """Go back, once the name was typed; before the plan was read, nothing."""
        if self._plan is not None:
            self._agree(self._agent, self._plan)


class CallScreen(LogScreen):
    """All of a call that waits and does not fit the board, from which it can be let run.

    Args:
        connect: Returns a client of the daemon.
        agent: The agent's name.
        lines: The call.
        agree: Lets it run.
    """

    BINDINGS = [*BACK, Binding("a", "agree", "Let it run")]  # noqa: RUF012 - as above

    title_of = "All that waits of"

    def __init__(self, connect: Connect, agent: str, lines: Sequence[str], agree: Callable[[], None]) -> None:
        super().__init__(connect, agent)
        self._lines, self._agree = lines, agree

    def read(self) -> list[Text]:
        """Return the lines."""
        return [Text(line) for line in self._lines]

    def action_agree(self) -> None:
        """Let it run."""
        self.app.pop_screen()
        self._agree()


class DiffScreen(LogScreen):
    """The content of what an agent changed."""

    title_of = "Changes of"

    def read(self) -> list[Text]:
        """Return the lines of the patches."""
        found: Any = self._connect().get(f"{agent_path(self._agent)}/diff")
        return [Text(line, style=COLOURS.get(line[:1], "")) for line in patch_lines(found)]
