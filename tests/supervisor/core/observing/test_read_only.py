"""What changes nothing, and so waits for no checkpoint."""

import pytest

from monitors.contract.actions import Action, Review, SideEffect
from monitors.contract.words import Decision, Severity
from supervisor.core.observing.read_only import only_reads


def review(*effects: str) -> Review:
    made = tuple(SideEffect(effect, Severity.LOW, True, "x") for effect in effects)
    return Review(Decision.ALLOW, 0.1, 0.5, Severity.LOW, "", side_effects=made)


def bash(command: str, **more: object) -> Action:
    return Action("Bash", {"command": command, **more})


@pytest.mark.parametrize(
    "command", ["ls -la", "git status", "cat a | grep b && wc -l c", "cat x 2>/dev/null", "find . -name x"]
)
def test_a_command_that_only_prints_waits_for_nothing(command: str) -> None:
    assert only_reads(bash(command), review())


@pytest.mark.parametrize(
    "command",
    [
        "make",
        "git commit",
        "echo x > y",
        "cat $(touch y)",
        "find . -delete",
        "sort -o a b",
        "ls & rm x",
        "cat <(touch y)",
    ],
)
def test_a_command_that_may_write_waits(command: str) -> None:
    assert not only_reads(bash(command), review())


def test_a_command_in_the_background_waits() -> None:
    assert not only_reads(bash("ls", run_in_background=True), review())


def test_a_known_side_effect_outweighs_the_look_of_the_command() -> None:
    assert not only_reads(bash("ls"), review("file_write"))
    assert only_reads(Action("WebFetch", {"url": "https://x"}), review("network"))


@pytest.mark.parametrize(("tool", "reads"), [("Read", True), ("Grep", True), ("Write", False), ("mcp__x__y", False)])
def test_tools_are_known_or_wait(tool: str, reads: bool) -> None:
    assert only_reads(Action(tool, {}), review()) is reads
