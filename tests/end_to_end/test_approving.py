"""Actions that wait for a person, as somebody meets them who follows a run."""

import os
import pty

import anyio
import anyio.to_thread
import pytest

from tests.end_to_end.conftest import Stage
from tests.end_to_end.test_commands import chaperon, read

pytestmark = pytest.mark.real_cli


def asking(stage: Stage, deadline_seconds: float = 60.0) -> tuple[str, str]:
    """Arguments by which actions wait for a person."""
    file = stage.base.root / "asking.yaml"
    file.write_text(f"approval: {{mode: ask, deadline_seconds: {deadline_seconds}}}\n")
    return "--config", str(file)


def answering(stage: Stage, *answers: str) -> tuple[int, str]:
    """`chaperon run` under a pseudo-terminal on which each question is answered; its exit code and output."""
    ours, theirs = pty.openpty()
    process = stage.start(
        *asking(stage), "run", "go", stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown, left = "", list(answers)
    try:
        while data := read(ours):
            shown += data
            if left and shown.rstrip("\0").endswith("if anything: "):
                os.write(ours, f"{left.pop(0)}\n".encode())
                shown += "\n"
        return process.wait(20), shown
    finally:
        os.close(ours)
        process.kill()
        process.wait()


async def test_a_run_on_a_terminal_asks_there_and_goes_on_with_the_answer(stage: Stage) -> None:
    stage.bash("touch one")
    stage.bash("touch two")
    async with stage.playing():
        code, shown = await anyio.to_thread.run_sync(lambda: answering(stage, "y", "n Leave two alone."))
    assert code == 0, shown
    assert (stage.repo / "one").exists()
    assert not (stage.repo / "two").exists()
    assert "Leave two alone." in stage.told()


async def test_a_run_in_a_pipe_in_which_nobody_answered_in_time_says_so_and_fails(stage: Stage) -> None:
    stage.bash("touch one")
    async with stage.playing():
        done = await chaperon(stage, *asking(stage, 0.5), "run", "go")
    assert done.returncode == 1
    assert "1 action was not run, for nobody answered in time" in done.stderr
    assert not (stage.repo / "one").exists()
