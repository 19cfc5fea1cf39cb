"""A command that is gone through once for each row of values of its variables."""

from collections.abc import Callable

from monitors.review.shell.invocation import Output, arg
from monitors.review.shell.state.shell_state import ShellState
from monitors.review.shell.state.turns import Turn
from monitors.review.shell.values import Value


def in_rows(
    state: ShellState, turn: Turn, rows: list[dict[str, Value]], once: Callable[[], Output], *, whole: bool
) -> Output:
    """Go through the command once for each row of values.

    Args:
        state: The shell's state.
        turn: How the command is gone through.
        rows: The values.
        once: Goes through it, with the values of one row in the state.
        whole: Whether these are all the values there are.
    """
    columns = state.in_turn
    stepping = {name: columns.of.pop(name) for name in columns.beside(turn.names)}
    changed: list[dict[str, Value]] = []
    outputs: list[Output] = []
    for row in rows:
        state.variables.update(row)
        before = dict(state.variables)
        outputs.append(once())
        changed.append({name: value for name, value in state.variables.items() if before.get(name) is not value})
    made = {name: [each.get(name, []) for each in changed] for each in changed for name in each}
    for name, column in stepping.items():
        columns.of[name] = column
        state.variables[name] = [word for value in column for word in value]
    _remember(state, made, turn.names, len(rows), whole=whole)
    texts = [text for text, _ in outputs if text is not None]
    source = tuple(one for _, invocations in outputs for one in invocations)
    return ("".join(texts) if len(texts) == len(outputs) else None), source


def _remember(state: ShellState, made: dict[str, list[Value]], names: list[str], rows: int, *, whole: bool) -> None:
    """Remember what variables are assigned from others, row by row."""
    columns = state.in_turn
    beside = names[0] if whole and rows == len(columns.of[names[0]]) else ""
    for name, column in made.items():
        if not whole:
            column.append([arg(f"${name}", known=False)])
    columns.put(made, beside=beside)
    for name, column in made.items():
        state.variables[name] = [word for value in column for word in value]
    if not whole:
        columns.cut.update(made)
