"""What scripts ask of places: the working directory, parts of paths, links followed, a repository's root."""

from collections.abc import Mapping

import pytest

from monitors.review.knowledge.book import LAUNCHERS
from monitors.review.shell.launch import LauncherBook
from monitors.review.shell.walk import Walk


class Disk:
    """A workspace in /home/u/app with a repository of its own in lib, and a link."""

    workspace = "/home/u/app"

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self.kinds = kinds

    def real(self, path: str) -> str:
        """The path; `link` leads to the home."""
        return path.replace("/home/u/app/link", "/home/u")

    def kind(self, path: str) -> str:
        """As the test says; nothing else is known."""
        return self.kinds.get(path, "unknown")


KINDS = {
    "/home/u/app/.git": "directory",
    "/home/u/app/src/.git": "missing",
    "/home/u/app/lib/.git": "file",
    "/home/u/app/gone": "missing",
}


def removed(script: str, files: Mapping[str, str] | None = None, kinds: Mapping[str, str] = KINDS) -> list[str]:
    """What the script's `rm` is given: each word that is known, and `?` for each other."""
    walk = Walk(
        cwd="/home/u/app",
        variables={"HOME": "/home/u", "PWD": "/home/u/app"},
        launchers=LauncherBook(LAUNCHERS),
        code=lambda _: [],
        text=(files or {}).get,
        disk=Disk(kinds),
    )
    walk.script(script)
    return [
        f"{one.cwd}: {word if word.known else '?'}"
        for one in walk.invocations
        if one.name == "rm"
        for word in one.operands()
    ]


@pytest.mark.parametrize(
    ("script", "gone"),
    [
        ('rm "$(pwd)/x"', "/home/u/app/x"),
        ('cd src; rm "$PWD/x"', "/home/u/app/src/x"),
        ("cd src && cd .. && rm $OLDPWD", "/home/u/app/src"),
        ('rm "$(dirname a/b/c)"', "a/b"),
        ('rm "$(dirname a)" ', "."),
        ('rm "$(git rev-parse --show-toplevel)/x"', "/home/u/app/x"),
        ('cd src; rm "$(git rev-parse --show-toplevel)/x"', "/home/u/app/x"),
        ('cd lib; rm "$(git rev-parse --show-toplevel)/x"', "/home/u/app/lib/x"),
        ('rm "$(git -C lib rev-parse --show-toplevel)/x"', "/home/u/app/lib/x"),
        ("cd src; rm $(git rev-parse --show-cdup)x", "../x"),
        ('rm "$(cd src && pwd)/x"', "/home/u/app/src/x"),
        ('rm "$(cd src || exit 1; cd ..; pwd)/x"', "/home/u/app/x"),
        ('rm "$(git rev-parse --show-toplevel || echo ~)/x"', "/home/u/app/x"),
        ('rm "$(realpath link)/x"', "/home/u/x"),
        ('rm "$(readlink -f src/..)/x"', "/home/u/app/x"),
        ("p=a/b.c.d; rm ${p%/*} ", "a"),
        ("p=a/b.c.d; rm ${p##*/} ", "b.c.d"),
        ("p=a/b.c.d; rm ${p%%.*} ", "a/b"),
        ("p=a/b.c.d; rm ${p#*.} ", "c.d"),
        ("pushd src >/dev/null; popd; rm x", "x"),
        ("f() { D=src; }; f; rm $D", "src"),
        ("D=a; f() { local D=src; }; f; rm $D", "a"),
    ],
)
def test_what_a_script_asks_of_places_is_known(script: str, gone: str) -> None:
    assert [one.partition(": ")[2] for one in removed(script)] == [gone]


@pytest.mark.parametrize(
    "script",
    [
        'rm "$(cd gone && pwd)/x"',
        'rm "$(realpath gone)/x"',
        'rm "$(test -d x && pwd || echo ~)/x"',
        'rm "$(grep -q a b >/dev/null && echo a || echo b)"',
        'rm "$(if true; then echo a; else echo b; fi)"',
        'rm "$([[ -n $X ]] && echo a || echo b)"',
        'cd "$X"; rm "$(pwd)/x"',
        'GIT_WORK_TREE=~; rm "$(git rev-parse --show-toplevel)/x"',
        'git config core.worktree ~; rm "$(git rev-parse --show-toplevel)/x"',
        'rm "$(git --work-tree=/home/u rev-parse --show-toplevel)/x"',
        'rm "$(dirname "$X")"',
        'f() { local D=src; }; f; rm "$D"',
    ],
)
def test_what_may_be_another_place_is_not_known(script: str) -> None:
    assert [one.partition(": ")[2] for one in removed(script)] == ["?"]


@pytest.mark.parametrize(
    "way", ["bash s/x.sh", "sh ./s/x.sh", "./s/x.sh", "/home/u/app/s/x.sh", "cd s; ./x.sh", ". s/x.sh"]
)
def test_a_script_finds_its_own_folder(way: str) -> None:
    text = '#!/bin/bash\nH="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nrm -rf "$H/../dist" "${BASH_SOURCE%/*}"\n'
    found = removed(way, {"/home/u/app/s/x.sh": text})
    assert found[0].endswith(": /home/u/app/s/../dist")
    assert found[1].partition(": ")[2] in ("s", "./s", "/home/u/app/s", ".")


def test_a_script_ends_with_its_directory_its_variables_and_its_traps() -> None:
    text = "cd src\nD=$(mktemp -d)\ntrap 'rm \"$D\"' EXIT\n"
    assert removed('D=own; bash x.sh; rm "$D"', {"/home/u/app/x.sh": text}) == [
        "/home/u/app/src: /tmp/mktemp.XXXXXXXXXX",
        "/home/u/app: own",
    ]


def test_a_library_knows_its_own_file_when_its_function_is_called() -> None:
    files = {"/home/u/app/lib/l.sh": 'clean() { rm "$(dirname "${BASH_SOURCE[0]}")/x"; }\n'}
    assert removed(". lib/l.sh; clean", files) == ["/home/u/app: lib/x"]


def test_no_disk_says_whose_root_it_is_and_a_workspace_is_one() -> None:
    asks = 'rm "$(git rev-parse --show-toplevel)/x"'
    assert removed(asks, kinds={}) == ["/home/u/app: /home/u/app/x"]
    assert removed(f"cd /; {asks}", kinds={}) == ["/: ?"]
