import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitors.signals.normalise import call_key, does_nothing, error_form, result_key, steady


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("at 2026-01-02T10:11:12.345Z it", "at ~ it"),
        ("on 2026-01-02 it", "on ~ it"),
        ("10:11:12 start", "~ start"),
        ("took 1.25s", "took ~"),
        ("took 3 ms, 5 seconds", "took ~, ~"),
        ("commit 1a2b3c4d done", "commit ~ done"),
        ("commit abcdef1234567890 done", "commit ~ done"),
        ("id 123e4567-e89b-12d3-a456-426614174000.", "id ~."),
        ("at 0x7f3a2c", "at ~"),
        ("toolu_01AbC and req_9", "~ and ~"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("5 failed, 12 passed", "5 failed, 12 passed"),
        ("line 17 of parser.py", "line 17 of parser.py"),
        ("defaced cafe", "defaced cafe"),
        ("v2s x10s", "v2s x10s"),
    ],
)
def test_times_durations_ids_and_colours_are_dropped_and_numbers_are_kept(text: str, plain: str) -> None:
    assert steady(text) == plain


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Exit code 1\ncat: /home/a/x1.txt: No such file or directory", "cat: <path>: No such file or directory"),
        ("Exit code 127\nbash: line 3: frob: command not found", "bash: line <n>: frob: command not found"),
        ("Exit code 1", ""),
        ("", ""),
        (
            "src/a/b.ts(3,9): error TS2339: Property 'foo' does not exist",
            "<path>(<n>,<n>): error TS<n>: Property 'foo' does not exist",
        ),
    ],
)
def test_an_error_is_known_by_its_telling_lines_without_paths_and_numbers(text: str, form: str) -> None:
    assert error_form(text) == form


def test_the_telling_lines_of_a_long_output_are_found_wherever_they_are() -> None:
    noise = "\n".join(f"compiling part {n}" for n in range(50))
    assert (
        error_form(f"Exit code 2\n{noise}\nlinker: undefined symbol alpha\n{noise}") == "linker: undefined symbol alpha"
    )


def test_a_call_is_known_by_what_it_asks_for() -> None:
    def key(**call: object) -> bytes:
        return call_key("Bash", call, 1)

    assert key(command="ls", description="a", timeout=5) == key(command="ls", description="b")
    assert key(b=1, a=2) == key(a=2, b=1)
    assert key(command="ls") != key(command="ls -a")
    assert key(path="a", offset=1) != key(path="a", offset=2)
    assert call_key("Read", {"path": "a"}, 1) != call_key("Grep", {"path": "a"}, 1)
    assert call_key("Read", {"path": "REDACTED"}, 1) != call_key("Read", {"path": "REDACTED"}, 2)


def test_a_long_result_is_known_by_its_middle_too() -> None:
    long = "a" * 5_000
    assert result_key(f"{long}b{long}") != result_key(f"{long}c{long}")
    assert result_key(f"took 1.2s {long}") == result_key(f"took 3.4s {long}")


@settings(max_examples=150)
@given(st.text(max_size=400))
def test_any_text_has_a_form_and_the_form_is_steady(text: str) -> None:
    assert steady(steady(text)) == steady(text)
    assert len(error_form(text)) <= 400
    assert result_key(text) == result_key(text)


@pytest.mark.parametrize(
    "command",
    [
        ":",
        ": step 7 is done",
        "true",
        "echo I am thinking",
        "echo 'a b'",
        "printf x",
        "# a remark",
        "echo;",
        "true && echo ok",
        ": a\n: b",
        "echo 'I am done; (really)'",
        "echo a || true",
    ],
)
def test_a_command_that_does_nothing_is_known_as_such(command: str) -> None:
    assert does_nothing("Bash", {"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "echo x > a",
        "echo $(rm a)",
        "echo $PATH",
        "echo a; ls",
        "true && ls",
        "printf x | sh",
        "echo `ls`",
        "truely",
        "echo a; 'ls'",
        "echo 'a' | 'sh'",
        'echo "a $(ls)"',
        "true & ls",
        "echo.sh",
        "printf 'x' && ./run",
        "ls",
    ],
)
def test_a_command_that_does_something_is_not(command: str) -> None:
    assert not does_nothing("Bash", {"command": command})
