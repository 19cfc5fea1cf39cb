"""Dialogs that ask for a line of text, or for a yes."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class LineDialog(ModalScreen[str | None]):
    """Asks for a line; gives None if it was left with Escape.

    Args:
        title: What is asked.
        wanted: The texts of which one must be typed; empty if any will do.
        optional: Whether an empty line is an answer.
    """

    DEFAULT_CSS = """
    LineDialog { align: center middle; }
    LineDialog Vertical { width: 90%; max-width: 100; height: auto; border: solid $primary; background: $surface; padding: 0 1; }
    """
    BINDINGS = [Binding("escape", "leave", "Cancel")]  # noqa: RUF012 - textual's way

    def __init__(self, title: str, *, wanted: tuple[str, ...] = (), optional: bool = False) -> None:
        super().__init__()
        self._title, self._wanted, self._optional = title, wanted, optional

    def compose(self) -> ComposeResult:
        """Lay the dialog out."""
        with Vertical():
            yield Static(self._title, markup=False)
            yield Input()
            yield Static("Enter: do it   Escape: leave it", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the line, if it is an answer."""
        if self._wanted and event.value not in self._wanted:
            self.app.bell()
        elif event.value or self._optional:
            self.dismiss(event.value)

    def action_leave(self) -> None:
        """Leave it."""
        self.dismiss(None)
