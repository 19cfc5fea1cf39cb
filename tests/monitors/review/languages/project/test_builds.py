"""The kinds of sources, and the programs that take them up."""

import pytest

from monitors.review.languages.project.builds import BUILDS, SHOWS, source_of


@pytest.mark.parametrize(
    ("path", "language"),
    [("/w/main.zig", "other"), ("/w/a.py", "python"), ("/w/x.vim", "sh"), ("/w/notes.md", None), ("/w/data.csv", None)],
)
def test_a_source_is_read_as_what_its_suffix_says(path: str, language: str | None) -> None:
    found = source_of(path, ":!touch a\n")
    assert (found.language if found else None) == language


def test_of_a_script_for_an_editor_the_lines_that_start_programs_count() -> None:
    found = source_of("/w/a.gdb", "break main\nshell rm -rf notes\nrun\n")
    assert found is not None
    assert found.code == "rm -rf notes"


def test_no_program_that_builds_is_one_that_only_shows() -> None:
    assert not {name for names in BUILDS.values() for name in names} & SHOWS
