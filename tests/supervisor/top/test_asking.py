"""Dialogs that ask for a line of text."""

import pytest
from textual.app import App
from textual.widgets import Input

from supervisor.top.asking import LineDialog


class Asks(App[None]):
    def __init__(self, dialog: LineDialog) -> None:
        super().__init__()
        self.dialog = dialog
        self.given: list[str | None] = []

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.given.append)


@pytest.mark.parametrize(
    ("dialog", "keys", "given"),
    [
        (LineDialog("Say [red]", wanted=()), ["h", "i", "enter"], ["hi"]),
        (LineDialog("Say"), ["enter"], []),
        (LineDialog("Note", optional=True), ["enter"], [""]),
        (LineDialog("Name", wanted=("a1", "b2")), ["a", "2", "enter"], []),
        (LineDialog("Name", wanted=("a1", "b2")), ["a", "2", "enter", "backspace", "1", "enter"], ["a1"]),
        (LineDialog("Name", wanted=("a1", "b2")), ["a", "1", "escape"], [None]),
    ],
)
async def test_a_line_is_given_once_it_is_an_answer(
    dialog: LineDialog, keys: list[str], given: list[str | None]
) -> None:
    app = Asks(dialog)
    async with app.run_test(size=(80, 24)) as pilot:
        assert dialog.query_one(Input).has_focus
        await pilot.press(*keys)
        await pilot.pause()
    assert app.given == given
