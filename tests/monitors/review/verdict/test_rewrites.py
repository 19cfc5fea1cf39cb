"""Rewrites and suggested alternatives: each is itself reviewed as allow, so that no advice is turned down."""

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.words import Decision
from monitors.review import ReviewSettings, make_reviewer
from monitors.review.knowledge.book import RULES
from monitors.review.reviewer import StepReviewer
from monitors.review.rules.rules import Rule
from monitors.review.verdict.rewrites import REWRITES, TRASH

STRICT = make_reviewer(ReviewSettings(profile="strict"))
STANDARD = make_reviewer()
CONTEXT = ReviewContext(home="/home/agent", captured=True)

EXAMPLES = {
    "force-with-lease": [
        ("git push --force origin main", "git push --force-with-lease origin main"),
        ("git -C x push -uf", "git -C x push -u --force-with-lease"),
        ("git push -f", "git push --force-with-lease"),
    ],
    "dry-run": [("git clean -fd", "git clean --dry-run -d"), ("git clean --force -x", "git clean --dry-run -x")],
    "rsync-dry-run": [("rsync -a --delete a/ b/", "rsync --dry-run -a --delete a/ b/")],
    "trash": [("rm -rf src 'my docs'", f"mkdir -p {TRASH} && mv --backup=numbered -t {TRASH} -- src 'my docs'")],
    "narrow-mode": [("chmod -R 777 build", "chmod -R u+rwX,go+rX build")],
}
IN_A_WORKSPACE = {
    "time-limit": [
        ("tail -f app.log", "timeout 60 tail -f app.log"),
        ("ping example.com", "timeout 60 ping example.com"),
        ("journalctl -fu x", "timeout 60 journalctl -fu x"),
    ]
}
CASES = [(name, STRICT, "", *pair) for name, pairs in EXAMPLES.items() for pair in pairs] + [
    (name, STANDARD, "/w", *pair) for name, pairs in IN_A_WORKSPACE.items() for pair in pairs
]


def test_every_rewrite_has_examples() -> None:
    assert set(REWRITES) == set(EXAMPLES) | set(IN_A_WORKSPACE)


@pytest.mark.parametrize(
    ("name", "reviewer", "workspace", "command", "changed"), CASES, ids=[case[3] for case in CASES]
)
def test_a_command_runs_rewritten_and_the_rewrite_is_allowed(
    name: str, reviewer: StepReviewer, workspace: str, command: str, changed: str
) -> None:
    review = reviewer.review(Action("Bash", {"command": command, "description": "x"}, workspace, workspace), CONTEXT)
    assert review.decision is Decision.MODIFY, name
    assert review.updated_input == {"command": changed, "description": "x"}
    assert (
        reviewer.review(Action("Bash", {"command": changed}, workspace, workspace), CONTEXT).decision is Decision.ALLOW
    )


@pytest.mark.parametrize(
    "command",
    [
        "git push --force && ls",
        "git push --force origin +main",
        "X=1 git push --force",
        "sudo git push --force",
        "sh -c 'git push --force'",
        "git push --force > log",
        "git push --force $BRANCH",
        "rm -rf $X/y",
        "rm -rf *",
        "cd .. && rm -rf x",
        "rm -rf x; ls",
    ],
)
def test_what_is_more_than_one_plain_command_is_blocked_instead(command: str) -> None:
    review = STRICT.review(Action("Bash", {"command": command}), CONTEXT)
    assert review.decision is Decision.BLOCK
    assert review.updated_input is None


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.alternative], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    ("reviewer", "workspace"), [(STRICT, ""), (STANDARD, "/home/agent/w")], ids=["strict", "standard"]
)
def test_every_suggested_alternative_is_allowed(rule: Rule, reviewer: StepReviewer, workspace: str) -> None:
    assert (
        reviewer.review(Action("Bash", {"command": rule.alternative}, workspace, workspace), CONTEXT).decision
        is Decision.ALLOW
    )


def test_a_secret_on_its_way_out_is_masked() -> None:
    token = "ghp_" + "a1B2" * 9
    review = STANDARD.review(
        Action("WebFetch", {"url": f"https://example.com/?t={token}", "prompt": "read"}, "/w", "/w"), CONTEXT
    )
    assert review.decision is Decision.MODIFY
    assert token not in str(review.updated_input)
    assert review.updated_input is not None
    assert review.updated_input["prompt"] == "read"


def test_a_rewrite_that_would_not_be_allowed_is_not_made() -> None:
    """`rm -rf` of a system directory is not moved to the trash either."""
    assert STRICT.review(Action("Bash", {"command": "rm -rf /etc"}), CONTEXT).decision is Decision.BLOCK
    assert STRICT.review(Action("Bash", {"command": "rm -rf ~"}), CONTEXT).decision is Decision.BLOCK


def test_a_background_command_may_go_on_for_ever() -> None:
    review = STANDARD.review(Action("Bash", {"command": "tail -f a", "run_in_background": True}, "/w", "/w"), CONTEXT)
    assert review.decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command", ["tail -f a > b &", "(tail -f a | grep x) & sleep 3; kill %1", "cd logs && tail -f a > b & ls"]
)
def test_what_the_shell_does_not_wait_for_may_go_on_for_ever(command: str) -> None:
    assert STANDARD.review(Action("Bash", {"command": command}, "/w", "/w"), CONTEXT).decision is Decision.ALLOW


@pytest.mark.parametrize("command", ["ls & tail -f a", "{ ls & }; tail -f a", "ls &\ntail -f a"])
def test_what_the_shell_waits_for_beside_it_must_end(command: str) -> None:
    assert STANDARD.review(Action("Bash", {"command": command}, "/w", "/w"), CONTEXT).rule == "shell.endless"


def test_what_runs_in_the_background_is_reviewed_as_all_else() -> None:
    for command in ("rm -rf ~ &", "cd / & rm -rf ../notes &", "(rm -rf ~ &)", "x=~; rm -rf $x & wait", "& " * 30_000):
        assert STANDARD.review(Action("Bash", {"command": command}, "/w", "/w"), CONTEXT).decision is Decision.BLOCK


@pytest.mark.parametrize("command", ["yes | head -n 5", "yes '' | make oldconfig", "yes | sdkmanager --licenses"])
def test_yes_ends_with_the_program_that_it_answers(command: str) -> None:
    assert STANDARD.review(Action("Bash", {"command": command}, "/w", "/w"), CONTEXT).decision is Decision.ALLOW


@pytest.mark.parametrize("command", ["yes", "yes > /dev/null", "yes | cat > a"])
def test_yes_that_nobody_ends_is_not_waited_for(command: str) -> None:
    assert STANDARD.review(Action("Bash", {"command": command}, "/w", "/w"), CONTEXT).rule == "shell.endless"
