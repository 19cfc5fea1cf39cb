"""What is ignored, held against git itself."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.workspace.ignore import Rules, parse
from tests.checkpoints.support import git

PIECES = st.sampled_from(
    ["a", "b", "A", ".", "*", "**", "?", "/", "/", "!", "#", "\\", "\\*", " ", "[ab]", "[!a]", "[^b]", "[a-c]", "[[:alpha:]]",
     "[", "]", "-", "[]a]", "[a", "é", "\\ ", "\t", "[\\]]", "[[:nope:]]"]
)  # fmt: skip
LINES = st.lists(PIECES, max_size=6).map("".join)
PATHS = st.lists(st.text(alphabet="abAc.*[]! #é\\", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ignore")
    git(folder, "init", "-q")
    return folder


def ignored_by_git(repository: Path, text: bytes, path: str) -> bool:
    (repository / ".git/info/exclude").write_bytes(text)
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    words = ["git", "-C", str(repository), "check-ignore", "-q", "--no-index", "-z", "--stdin"]
    done = subprocess.run(words, input=path.encode() + b"\0", check=False, env=environment, capture_output=True)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


def ignored_by_us(text: bytes, path: str) -> bool:
    rules = Rules(b"", parse(text))
    raw = path.encode()
    parts = raw.split(b"/")
    for depth in range(1, len(parts)):
        if rules.ignores(b"/".join(parts[:depth]), is_folder=True):
            return True
    return rules.ignores(raw, is_folder=False)


@settings(max_examples=int(os.environ.get("IGNORE_EXAMPLES", "150")))
@given(lines=st.lists(LINES, min_size=1, max_size=4), path=PATHS)
def test_any_rules_mean_what_they_mean_to_git(repository: Path, lines: list[str], path: str) -> None:
    parts = path.split("/")
    if "." in parts or ".." in parts or ".git" in parts:
        return
    text = "\n".join(lines).encode()
    assert ignored_by_us(text, path) == ignored_by_git(repository, text, path)


@pytest.mark.parametrize("text", ["a**/b", "a**", "x/a**", "x/a**/b", "a**/", "a**//", "a***/b", "x/ab**/c/"])
@pytest.mark.parametrize(
    "path", ["ab", "a/b", "a/x/y/b", "ax/b", "a", "x/a", "x/a/z/b", "x/ab", "x/abd/c/e", "x/abc/e"]
)
def test_stars_behind_text_mean_what_they_mean_to_git(repository: Path, text: str, path: str) -> None:
    assert ignored_by_us(text.encode(), path) == ignored_by_git(repository, text.encode(), path)


@pytest.mark.parametrize(
    ("text", "path", "ignored"),
    [
        ("*.log", "a/b/x.log", True),
        ("/x", "a/x", False),
        ("a/x", "b/a/x", False),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**", "a", False),
        ("build/", "build", False),
        ("build/", "build/x", True),
        ("*\n!keep", "keep", False),
        ("dir/\n!dir/keep", "dir/keep", True),
        ("a.log\r\n", "a.log", True),
        ("trail  ", "trail", True),
        ("space\\ ", "space ", True),
        ("\\#x", "#x", True),
        ("\ufeffx", "x", True),
        ("x", "X", False),
        ("a**b", "axxb", True),
        ("[a", "[a", False),
        ("[A/[ab]", "A", True),
        ("[a/b]c", "ac", True),
        ("x/[a/b]/y", "x/a/y", True),
        ("x/[!a/]/y", "x/b/y", True),
        ("a\\/b", "a/b", True),
        ("a/[b/c", "a/b", False),
    ],
)
def test_the_rules_people_write(repository: Path, text: str, path: str, ignored: bool) -> None:
    assert ignored_by_us(text.encode(), path) == ignored
    assert ignored_by_git(repository, text.encode(), path) == ignored


def test_rules_of_a_nearer_folder_win() -> None:
    outer = Rules(b"", parse(b"*.txt\n"))
    inner = outer.inside(b"sub", b"!keep.txt\n")
    assert not inner.ignores(b"sub/keep.txt", is_folder=False)
    assert inner.ignores(b"sub/other.txt", is_folder=False)
    assert outer.ignores(b"keep.txt", is_folder=False)


def test_names_that_are_no_text_are_matched_as_bytes() -> None:
    assert Rules(b"", parse(b"bad\xff*\n")).ignores(b"bad\xff.txt", is_folder=False)


@pytest.mark.timeout(60)
def test_a_pattern_made_to_take_for_ever_does_not() -> None:
    rules = Rules(b"", parse(b"*a" * 100 + b"*b\n"))
    assert not rules.ignores(b"a" * 255, is_folder=False)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", [b"**/" * 200 + b"b", b"**/a/" * 30 + b"b", b"a**/" + b"**/a*/" * 30 + b"b"])
def test_a_pattern_of_many_folders_made_to_take_for_ever_does_not(text: bytes) -> None:
    """Who matches it lets nothing else of the daemon run meanwhile, so that no call of any agent was answered."""
    rules = Rules(b"", parse(text + b"\n"))
    assert not rules.ignores(b"a/" * 60 + b"c", is_folder=False)
    assert rules.ignores(b"a/" * 60 + b"b", is_folder=False)
