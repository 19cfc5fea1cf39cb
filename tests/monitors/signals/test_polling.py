import pytest

from monitors.signals.polling import is_polling


@pytest.mark.parametrize(
    "command",
    [
        "sleep 30 && gh run view 7", "gh pr checks 12", "kubectl get pods", "docker compose ps", "curl localhost/health",
        "tail -f app.log", "tail -n 20 app.log", "make && tail app.log", "systemctl status app", "ps aux | grep app", "WAIT; wait",
    ],
)  # fmt: skip
def test_commands_that_look_at_what_changes_by_itself(command: str) -> None:
    assert is_polling("Bash", {"command": command})


@pytest.mark.parametrize("command", ["git status", "pytest -q | tail -40", "ls", "grep -rn await src", ""])
def test_commands_that_do_not(command: str) -> None:
    assert not is_polling("Bash", {"command": command})


def test_tools_that_look_at_the_background_and_inputs_that_are_odd() -> None:
    assert is_polling("BashOutput", {})
    assert is_polling("mcp__playwright__browser_wait_for", {})
    assert not is_polling("Bash", {"command": None})
    assert not is_polling("Read", {"file_path": "status"})
