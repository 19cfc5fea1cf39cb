"""What kind of line the CLI printed on its error output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitors.contract.error_lines import ErrorLevel, ErrorLine, read_error_line


@pytest.mark.parametrize(
    ("line", "level", "topic", "text"),
    [
        (
            "Error parsing streaming input line (type=unknown, 9 chars): SyntaxError",
            "error", "Error", "Error parsing streaming input line (type=unknown, 9 chars): SyntaxError",
        ),
        ('[claude-code:unrecognized_model] {"model":"nope-9"}', "warning", "unrecognized_model", '{"model":"nope-9"}'),
        ("2026-11-22T10:31:39.609Z [DEBUG] MDM settings load completed in 1ms", "debug", "", "MDM settings load completed in 1ms"),
        ("2026-11-22T10:31:39.609Z [ERROR] no such thing", "error", "", "no such thing"),
        ("2026-11-22T10:31:39.609Z [NOTICE] of a level to come", "info", "", "of a level to come"),
        ("TypeError: undefined is not a function", "error", "TypeError", "TypeError: undefined is not a function"),
        ("Uncaught RangeError: too deep", "error", "RangeError", "Uncaught RangeError: too deep"),
        ("    at main (/$bunfs/root/claude:12:3)", "debug", "stack", "at main (/$bunfs/root/claude:12:3)"),
        ("write /home/x: ENOSPC, no space left on device", "error", "", "write /home/x: ENOSPC, no space left on device"),
        ("(node:7) Warning: something is deprecated", "warning", "", "(node:7) Warning: something is deprecated"),
        ("mirror, mirror on the wall", "info", "", "mirror, mirror on the wall"),
        ("", "info", "", ""),
    ],
)  # fmt: skip
def test_lines_are_read_for_what_they_are(line: str, level: str, topic: str, text: str) -> None:
    assert read_error_line(line) == ErrorLine(ErrorLevel(level), topic, text)


@given(st.text())
def test_whatever_is_printed_is_read(line: str) -> None:
    assert read_error_line(line).text in line
