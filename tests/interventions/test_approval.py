"""Approval mode: who waits, and what an answer makes of a review."""

import pytest

from interventions import approval
from interventions.approval import ApprovalSettings, needs_person
from monitors.contract.actions import AGENT_TOOLS, SHELL_TOOLS, WEB_TOOLS, Action, Review, ReviewContext, SideEffect
from monitors.contract.errors import UsageError
from monitors.contract.words import Decision, Severity
from monitors.review import make_reviewer
from monitors.review.tools import is_known

ASK = ApprovalSettings(mode="ask")
ONLY_NETWORK = ApprovalSettings(mode="ask", require_approval_for=("network",))


def review(decision: Decision = Decision.ALLOW, *effects: str) -> Review:
    made = tuple(SideEffect(type_, Severity.LOW, True, f"does {type_}") for type_ in effects)
    return Review(decision, 0.3, 0.9, Severity.LOW, "fine", side_effects=made)


@pytest.mark.parametrize(
    ("tool", "made", "settings", "asks"),
    [
        ("Write", review(Decision.ALLOW, "file_write"), ApprovalSettings(), False),
        ("Write", review(Decision.ALLOW, "file_write"), ASK, True),
        ("Bash", review(Decision.ALLOW, "network_send"), ONLY_NETWORK, True),
        ("Bash", review(Decision.ALLOW, "git_push"), ONLY_NETWORK, False),
        ("Bash", review(Decision.ALLOW, "database_read"), ASK, False),
        ("Bash", review(Decision.ALLOW, "own.deploy"), ASK, True),
        ("Bash", review(Decision.ALLOW), ASK, False),
        ("Read", review(Decision.WARN, "file_write"), ASK, False),
        ("Write", review(Decision.BLOCK, "file_write"), ASK, False),
        ("mcp__git__push", review(), ASK, True),
        ("Bash", review(), ApprovalSettings(mode="ask", tools=("Bash",)), True),
        ("Bash", review(Decision.WARN), ApprovalSettings(mode="risky"), True),
        ("Bash", review(Decision.ALLOW, "file_delete"), ApprovalSettings(mode="risky"), False),
    ],
)
def test_who_waits_for_a_person(tool: str, made: Review, settings: ApprovalSettings, asks: bool) -> None:
    assert bool(needs_person(Action(tool, {}), made, settings)) is asks


def asked(tool: str, given: dict[str, str]) -> str:
    action = Action(tool, given, "/w/repo", "/w/repo")
    return needs_person(action, make_reviewer().review(action, ReviewContext(home="/home/ann")), ASK)


def test_the_reason_says_in_words_what_the_action_would_do() -> None:
    assert asked("Bash", {"command": "git push"}).startswith("it pushes commits, branches or tags (")
    assert "git_push" not in asked("Bash", {"command": "git push"})


@pytest.mark.parametrize(
    "command",
    [
        "git push --force origin main", "git push", "gh pr merge 3", "gh release create v1", "terraform apply", "pip install requests",
        "docker run --rm alpine", "systemctl restart nginx", "make deploy", "python x.py", "npm publish", "kubectl delete pod x",
        "aws s3 rm s3://bucket/key", "psql -c 'drop table x'", "crontab new.tab", "kill 4711", "echo hi > a.txt", "rm a.txt",
        "curl https://example.org/x", "./deploy.sh", "git reset --hard HEAD~1", "useradd eve",
    ],
)  # fmt: skip
def test_mode_ask_asks_for_whatever_changes_something(command: str) -> None:
    reviewed = make_reviewer().review(Action("Bash", {"command": command}, "/w/repo", "/w/repo"), ReviewContext())
    assert reviewed.decision is Decision.BLOCK or asked("Bash", {"command": command})


@pytest.mark.parametrize("command", ["ls -la", "cat a.txt", "git status", "git log --oneline", "grep -r x ."])
def test_mode_ask_does_not_ask_for_reading(command: str) -> None:
    assert not asked("Bash", {"command": command})


@pytest.mark.parametrize("tool", sorted(SHELL_TOOLS | AGENT_TOOLS | WEB_TOOLS))
def test_the_classes_of_tools_name_tools_that_the_reviewer_knows(tool: str) -> None:
    assert is_known(tool)


def test_a_note_reaches_the_model_with_the_permission() -> None:
    let = approval.granted(review(), "ann", "mind the gap")
    assert let.decision is Decision.WARN
    assert "ann let this run and says: mind the gap" in let.reasoning
    assert approval.granted(review(), "ann", "") == review()


def test_a_changed_input_stays_changed_when_it_is_granted() -> None:
    changed = Review(Decision.MODIFY, 0.3, 0.9, Severity.LOW, "softer", updated_input={"command": "ls"})
    let = approval.granted(changed, "ann", "ok")
    assert (let.decision, let.updated_input) == (Decision.MODIFY, {"command": "ls"})


def test_a_denial_and_a_deadline_are_blocks_that_say_who_and_why() -> None:
    turned_down = approval.denied(review(), "ann", "not on main")
    late = approval.overdue(review(), 600.0)
    assert turned_down.decision is late.decision is Decision.BLOCK
    assert "ann turned this down and says: not on main" in turned_down.reasoning
    assert "nobody answered within 600 s" in late.reasoning


def test_an_agent_does_not_answer_its_own() -> None:
    approval.refuse_agent("ann", "")
    with pytest.raises(UsageError, match="process of agent 'a1'"):
        approval.refuse_agent("ann", "a1")
