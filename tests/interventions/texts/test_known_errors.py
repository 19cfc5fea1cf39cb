"""Errors by their text."""

import pytest

from interventions.texts.known_errors import ErrorKind, recognise

K = ErrorKind


@pytest.mark.parametrize(
    ("text", "kind", "subject"),
    [
        ("FileNotFoundError: [Errno 2] No such file or directory: 'src/mian.py'", K.FILE_NOT_FOUND, "src/mian.py"),
        ("Error: ENOENT: no such file or directory, open '/w/a b.txt'", K.FILE_NOT_FOUND, "/w/a b.txt"),
        ("cat: notes.md: No such file or directory", K.FILE_NOT_FOUND, "notes.md"),
        ("File does not exist.", K.FILE_NOT_FOUND, ""),
        ("PermissionError: [Errno 13] Permission denied: '/etc/shadow'", K.PERMISSION_DENIED, "/etc/shadow"),
        ("bash: ./run.sh: Permission denied", K.PERMISSION_DENIED, "./run.sh"),
        ("ModuleNotFoundError: No module named 'yaml.nodes'", K.IMPORT_ERROR, "yaml.nodes"),
        ("Error: Cannot find module 'left-pad'", K.IMPORT_ERROR, "left-pad"),
        ("ImportError: cannot import name 'x' from 'pkg.mod' (/p)", K.IMPORT_ERROR, "pkg.mod"),
        ("API Error: Request rejected (429) · This request would exceed your account's rate limit.", K.OVERLOADED, ""),
        ("You've hit your 5-hour limit · resets 8:06pm (UTC)", K.USAGE_LIMIT, ""),
        ('API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', K.OVERLOADED, ""),
        ("API Error: Request timed out.", K.TIMED_OUT, ""),
        ("Claude AI usage limit reached|1760000000", K.USAGE_LIMIT, ""),
        ("You've hit your session limit · resets 3pm (Europe/Berlin)", K.USAGE_LIMIT, ""),
        ("5-hour limit reached ∙ resets 3am", K.USAGE_LIMIT, ""),
    ],
)
def test_what_is_well_understood_is_recognised(text: str, kind: ErrorKind, subject: str) -> None:
    found = recognise(text)
    assert found is not None
    assert (found.kind, found.subject) == (kind, subject)


@pytest.mark.parametrize(
    "text",
    ["", "AssertionError: 2 != 3", "3 passed", "the limit of the loop was reached", "Permission denied (publickey)."],
)
def test_what_is_not_is_left_alone(text: str) -> None:
    assert recognise(text) is None


def test_an_error_is_found_at_either_end_of_a_long_text() -> None:
    assert recognise("x\n" * 40_000 + "cat: a: No such file or directory") is not None


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["x", "a:", "'a", "hit your ", "API Error: ", "File does not exist "])
def test_no_text_takes_more_than_one_pass(piece: str) -> None:
    for _ in range(20):
        recognise(piece * 20_000)
