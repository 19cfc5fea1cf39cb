"""The full-screen board. Requests to the daemon are made in threads; text of others is never markup here."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import DataTable, Footer, Static

from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from supervisor.cli.client import ANSWER_SECONDS
from supervisor.cli.common import agent_path, path_part
from supervisor.cli.output.words import clean
from supervisor.protocol.plain import harmless
from supervisor.top import reading
from supervisor.top.asking import LineDialog
from supervisor.top.reading import COLUMNS, BoardRow, Connect, Shown, details, read_board, unread
from supervisor.top.screens import CallScreen, DiffScreen, PlanScreen, TimelineScreen

REFRESH_SECONDS = 1.0
"""Between two looks: the daemon answers in milliseconds, and is asked for the board only if its journal has grown."""

OF_THE_BOARD = frozenset({"move", "approve", "deny", "ask", "say", "stop", "timeline", "diff"})
"""Actions about the chosen row: over another screen, which may be about another agent, no letter means them."""

OUTCOMES = {"f": "false_alarm", "r": "confirmed"}
"""Words about an issue, by the letter that is typed."""

STYLES = {
    "ASKS": "bold yellow",
    "ROLLBACK": "bold yellow",
    "running": "green",
    "paused": "yellow",
    "failed": "red",
    "lost": "red",
    "done": "blue",
}
"""Colours of states; the word says the same without."""


class Top(App[None]):
    """The board.

    Args:
        connect: Returns a client of the daemon; raises NoDaemonError.
    """

    TITLE = "chaperon"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    DataTable { height: 1fr; }
    #details { height: auto; max-height: 8; border-top: solid $primary; padding: 0 1; }
    .head { background: $primary; color: $text; padding: 0 1; height: 1; }
    """
    BINDINGS = [  # noqa: RUF012 - textual's way
        Binding("j", "move(1)", "Down", show=False),
        Binding("k", "move(-1)", "Up", show=False),
        Binding("a", "approve", "Approve"),
        Binding("d", "deny", "Deny"),
        Binding("p", "ask('pause')", "Pause"),
        Binding("r", "ask('resume')", "Resume"),
        Binding("s", "say('say')", "Say"),
        Binding("i", "say('redirect')", "Redirect", show=False),
        Binding("x", "stop", "Stop"),
        Binding("enter", "timeline", "Steps", priority=False),
        Binding("v", "diff", "Diff"),
        Binding("question_mark", "help", "Keys", show=False),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, connect: Connect) -> None:
        super().__init__()
        self._connect = connect
        self._rows: list[BoardRow] = []
        self._seen = -1
        self._shown = Shown(anyio.current_time)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - textual's signature
        """Return whether a key of the board does something now: over another screen it is neither offered nor taken."""
        return len(self.screen_stack) == 1 or action not in OF_THE_BOARD

    def compose(self) -> ComposeResult:
        """Lay the board out."""
        yield Static("chaperon", id="head", classes="head", markup=False)
        yield DataTable(cursor_type="row", zebra_stripes=False)
        yield Static("", id="details", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look."""
        self.query_one(DataTable).add_columns(*COLUMNS)
        self.look()
        self.set_interval(REFRESH_SECONDS, self.look)

    @work(thread=True, exclusive=True, group="look")
    def look(self) -> None:
        """Ask for the board, if something happened."""
        try:
            daemon = self._connect()
            last = int(daemon.get("/v1/health")["last_event"])
            if last != self._seen:
                found = read_board(daemon)
                self._seen = last
                self.call_from_thread(self._show, found)
        except ChaperonError as error:
            self._seen = -1
            self.call_from_thread(self._head, f"chaperon  {error.what}")

    def _head(self, text: str) -> None:
        self.screen_stack[0].query_one("#head", Static).update(harmless(text))

    def _show(self, found: list[BoardRow]) -> None:
        """Put the rows, and keep the cursor on its agent."""
        table = self.screen_stack[0].query_one(DataTable)
        chosen = self._chosen()
        self._rows = found
        table.clear()
        for row in found:
            cells = [Text(harmless(cell), no_wrap=True) for cell in row.cells()]
            cells[1].stylize(STYLES.get(cells[1].plain, ""))
            table.add_row(*cells, key=row.name)
        names = [row.name for row in found]
        if chosen is not None and chosen.name in names:
            table.move_cursor(row=names.index(chosen.name))
        waits = sum(row.waits for row in found)
        live = sum(row.agent["ended_at"] is None for row in found)
        self._head(
            f"chaperon  {live:,} live, {len(found) - live:,} ended"
            + (f"  ·  {counted(waits, 'waits', 'wait')} for you" if waits else "")
        )
        there = self._chosen()
        if self._shown.refreshed(there and there.asked):
            self.set_timer(reading.SETTLING_SECONDS, self._tell_details)
        self._tell_details()

    def _chosen(self) -> BoardRow | None:
        at = self.screen_stack[0].query_one(DataTable).cursor_row
        return self._rows[at] if 0 <= at < len(self._rows) else None

    def _tell_details(self) -> None:
        row = self._chosen()
        empty = 'No agent runs. Start one with: chaperon run "PROMPT" --repo DIR'
        told = "\n".join(details(row, is_new=self._shown.is_new)) if row else empty
        self.screen_stack[0].query_one("#details", Static).update(harmless(told))

    def on_data_table_row_highlighted(self) -> None:
        """Tell of the row that was moved to."""
        there = self._chosen()
        self._shown.moved(there and there.asked)
        self._tell_details()

    def _to_answer(self) -> BoardRow | None:
        """Return the chosen row, if what it waits for stood there long enough to be what a key is meant for."""
        if self._shown.is_new:
            self.notify("This came just now: look at it, and press the key again.", markup=False)
            return None
        return self._chosen()

    def on_data_table_row_selected(self) -> None:
        """Open the row that Enter was pressed on."""
        self.action_timeline()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        table = self.query_one(DataTable)
        table.move_cursor(row=table.cursor_row + by)

    def action_ask(self, verb: str) -> None:
        """Pause or resume the chosen agent."""
        if (row := self._chosen()) is not None:
            self.request(f"{agent_path(row.name)}/{verb}", None, lambda known: f"{known['agent']} is {known['state']}.")

    def action_say(self, verb: str) -> None:
        """Ask for a text, and tell it to the chosen agent; `redirect` interrupts it for that."""
        if (row := self._chosen()) is None:
            return

        def done(text: str | None) -> None:
            if text:
                self.request(
                    f"{agent_path(row.name)}/{verb}", {"text": text}, lambda known: f"{known['agent']} was told."
                )

        name = clean(row.name, 60)
        title = f"Say to {name}" if verb == "say" else f"Interrupt {name}, and give it something else to do"
        self.push_screen(LineDialog(title), done)

    def action_stop(self) -> None:
        """Stop the chosen agent, once its name was typed."""
        if (row := self._chosen()) is None:
            return

        def done(text: str | None) -> None:
            if text is not None:
                self.request(f"{agent_path(row.name)}/stop", {}, lambda known: f"{known['agent']} is {known['state']}.")

        self.push_screen(LineDialog(f"Type {clean(row.name, 60)} to stop it", wanted=(row.name,)), done)

    def action_approve(self) -> None:
        """Let the action that waits run, once all of it could be read, or read the plan of a proposed rollback."""
        if (row := self._to_answer()) is None:
            return
        if row.waiting is None and row.proposal is not None:
            self.push_screen(PlanScreen(self._connect, row.name, str(row.proposal["checkpoint"]), self._go_back))
            return
        answer = partial(self._answer, row, note="", granted=True)
        if lines := unread(row.waiting):
            self.push_screen(CallScreen(self._connect, row.name, lines, answer))
            return
        answer()

    def action_deny(self) -> None:
        """Turn the action that waits down, with a note, or decline a rollback that is proposed."""
        if (row := self._to_answer()) is None:
            return
        if row.waiting is None and row.proposal is not None:
            self._decline(row.name, str(row.proposal["issue"]))
        if row.waiting is None:
            return

        def done(note: str | None) -> None:
            if note is not None:
                self._answer(row, note=note, granted=False)

        self.push_screen(LineDialog("Deny. What is the model told with it? (may be empty)", optional=True), done)

    def _decline(self, agent: str, issue: str) -> None:
        def done(letter: str | None) -> None:
            if letter is not None:
                body = {"pattern": issue, "outcome": OUTCOMES[letter], "note": "its rollback was declined"}
                self.request(f"{agent_path(agent)}/outcomes", body, lambda _: f"{agent} stays as it is.")

        title = f"Decline the rollback of {clean(agent, 60)}. {clean(issue, 60)} was: f a false alarm, r right"
        self.push_screen(LineDialog(title, wanted=tuple(OUTCOMES)), done)

    def _go_back(self, agent: str, plan: Mapping[str, Any]) -> None:
        """Go back as a plan says, once the checkpoint's name was typed, and that it is meant if it is unusual."""
        name = str(plan["target"]["name"])
        typed = f"{name} unusual" if plan["unusual"] else name

        def done(text: str | None) -> None:
            if text is not None:
                body = {"checkpoint": name, "unusual": bool(plan["unusual"])}
                said = "{} is as in {}. To undo: chaperon rollback {}"
                self.request(
                    f"{agent_path(agent)}/rollback",
                    body,
                    lambda made: said.format(agent, name, made["undo"]),
                    seconds=None,
                )
                self.pop_screen()

        self.push_screen(LineDialog(f"Type {clean(typed, 80)} to go back to it", wanted=(typed,)), done)

    def _answer(self, row: BoardRow, *, note: str, granted: bool) -> None:
        if row.waiting is None:
            self.notify("Nothing of this agent waits for you.", markup=False)
            return
        path = f"{agent_path(row.name)}/approvals/{path_part(str(row.waiting['request_id']), 'chaperon approvals')}"
        self.request(path, {"granted": granted, "note": note}, lambda known: f"{known['agent']} has its answer.")

    def action_timeline(self) -> None:
        """Open the steps of the chosen agent."""
        if (row := self._chosen()) is not None:
            self.push_screen(TimelineScreen(self._connect, row.name))

    def action_diff(self) -> None:
        """Open the content of what the chosen agent changed."""
        if (row := self._chosen()) is not None:
            self.push_screen(DiffScreen(self._connect, row.name))

    def action_help(self) -> None:
        """List the keys."""
        there = self.BINDINGS if len(self.screen_stack) == 1 else self.screen.BINDINGS
        keys = ((one.key.replace("question_mark", "?"), one.description) for one in there if isinstance(one, Binding))
        self.notify("\n".join(f"{key:<6} {what}" for key, what in keys), title="Keys", timeout=15, markup=False)

    @work(thread=True, group="request")
    def request(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        says: Callable[[Any], str],
        seconds: float | None = ANSWER_SECONDS,
    ) -> None:
        """Ask the daemon for something in a thread, and say what came of it."""
        try:
            told, failed = says(self._connect().post(path, body, seconds=seconds)), False
        except ChaperonError as error:
            told, failed = str(error), True
        self.call_from_thread(self._tell, told, failed=failed)
        self.look()

    def _tell(self, told: str, *, failed: bool) -> None:
        self.notify(harmless(told), severity="error" if failed else "information", markup=False)
