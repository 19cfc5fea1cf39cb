"""Events of the journal as lines for people, coloured in a terminal, plain in a pipe.

Pure: records in, lines out. A view remembers the lines it has shown of each agent, so that no sentence is shown twice.
`event_lines` has the lines of each kind.
"""

import textwrap
from collections.abc import Iterator

from click import style

from supervisor.cli.output.event_lines import HOLDING, SHOWN, Record, ShownLines, ViewLine
from supervisor.cli.output.words import clean, local


class View:
    """The view of a stream of records, in its order.

    Args:
        names: Whether lines begin with the agent's name, for views of several.
        width: Characters that a line may have before it is wrapped; None never wraps.
    """

    def __init__(self, *, names: bool = False, width: int | None = None) -> None:
        self._names, self._width = names, width
        self._seen: dict[str, ShownLines] = {}
        self._name_width = len("daemon")

    def lines(self, record: Record) -> list[str]:
        """Return the lines of a record, drawn; raises nothing, see `view_lines`."""
        made = self.view_lines(record)
        try:
            return [shown for line in made for shown in self._drawn(record, line)]
        except _UNFIT as error:
            return list(self._drawn({"agent": "", "at": 0.0}, _unknown(record, error)))

    def view_lines(self, record: Record) -> list[ViewLine]:
        """Return the lines of a record; often none, since much of the journal is for machines.

        A record whose shape does not fit its kind becomes a line that reports it.
        """
        try:
            return list(self._of(record))
        except _UNFIT as error:
            return [_unknown(record, error)]

    def rest(self) -> list[str]:
        """Return the lines that wait for a record that never came. Call it at the end."""
        return [
            shown
            for agent, seen in self._seen.items()
            for line in seen.flush()
            for shown in self._drawn({"agent": agent, "at": seen.at}, line)
        ]

    def _of(self, record: Record) -> list[ViewLine]:
        kind = str(record.get("kind", ""))
        show = SHOWN.get(kind)
        if show is None:
            return []
        seen = self._seen.setdefault(str(record.get("agent", "")), ShownLines())
        held = [] if kind in HOLDING else seen.flush()
        seen.at = record["at"]
        return [*held, *show(record, seen)]

    def _drawn(self, record: Record, line: ViewLine) -> Iterator[str]:
        who = ""
        if self._names:
            name = clean(record["agent"] or "daemon", 32)
            self._name_width = max(self._name_width, len(name))
            who = f"{name:<{self._name_width}} "
        time, mark = local(record["at"]), f"{line.mark:<8}"
        indent = len(time) + 1 + len(who) + len(mark) + 1
        texts = [line.text]
        if self._width is not None and indent + len(line.text) > self._width:
            texts = textwrap.wrap(line.text, max(20, self._width - indent)) or [""]
        for number, text in enumerate(texts):
            shown = style(text, dim=True) if line.dim else text
            begin = " " * indent if number else f"{style(time, dim=True)} {who}{_styled(mark, line)} "
            yield begin + shown


_UNFIT = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
"""Errors of reading a record whose shape does not fit its kind."""


def _unknown(record: Record, error: Exception) -> ViewLine:
    about = f"event {record.get('n')} ({record.get('kind')}) has a shape that is not known here: {error!r}"
    return ViewLine("?", f"{clean(about)}; chaperon tail --json has it as it is", "yellow")


def _styled(mark: str, line: ViewLine) -> str:
    return style(mark, fg=line.colour, bold=line.bold)
