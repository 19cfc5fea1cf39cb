"""The assessment of one command by where it works and what it is given."""

import pytest

from tests.monitors.review.test_verbs import stopped


@pytest.mark.parametrize(
    "command",
    [
        'cd "$X" && git reset --hard',
        "cd ~/src/$(hostname); git checkout -- .",
        "for d in $(ls ~/src); do git -C ~/src/$d reset --hard; done",
        "for d in $(ls ..); do git -C ../$d reset --hard; done",
        "find ~ -name .git -execdir git reset --hard \\;",
        'find ~/src -name .git | while read g; do (cd "$(dirname "$g")" && git reset --hard); done',
    ],
)
def test_a_place_that_is_not_known_or_lies_elsewhere_is_no_workspace_to_git(command: str) -> None:
    assert stopped(command)


@pytest.mark.parametrize(
    "command",
    [
        "git reset --hard",
        "cd packages/a && npm test; cd -; git checkout -- .",
        'for d in packages/*/; do (cd "$d" && git checkout -- .); done',
        "find . -name package.json -execdir git checkout -- package-lock.json \\;",
        'cd "$(git rev-parse --show-toplevel)" && git checkout -- .',
    ],
)
def test_what_a_checkpoint_of_the_workspace_holds_may_be_thrown_away(command: str) -> None:
    assert not stopped(command)
