"""With which calls the CLI puts a folder's CLAUDE.md before its model, asserted against the real CLI.

It asks no hook of that, so `monitors.review` looks at it with the call (`agent_definitions.words_with`).
"""

from pathlib import Path

import pytest

from monitors.review.checks.secrets import TAKEN_FOR_READ
from monitors.review.scene.agent_definitions import WORDS
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import all_that_the_model_was_told
from supervisor.rehearsal.script import ModelScript, Say, ScriptStep, ToolUse
from supervisor.runtime.processes.settings_files import look
from tests.contract.cli import Frame, event_of, running_cli
from tests.stages.live import bash

pytestmark = pytest.mark.real_cli

LINKED = "what-stands-in-the-linked-file"


async def told(base: Path, *calls: ToolUse, words: str = "CLAUDE.md", folder: str = "part") -> tuple[bool, list[str]]:
    """Whether the model was told a folder's words, which are a link, and for which tools a hook was asked."""
    workspace, outside = base / "workspace", base / "outside/credentials"
    link = workspace / folder / words
    link.parent.mkdir(parents=True, exist_ok=True)
    outside.parent.mkdir()
    outside.write_text(f"{LINKED}\n")
    link.symlink_to(outside)
    (workspace / "part").mkdir(exist_ok=True)
    (workspace / "part/old.txt").write_text("old\n")
    asked: list[str] = []

    def note(request: Frame) -> Frame:
        if event_of(request) == "PreToolUse":
            asked.append(str(request["input"]["tool_name"]))
        return {}

    steps = *(ScriptStep((call,)) for call in calls), ScriptStep((Say("done"),))
    async with (
        ScriptedModel(ModelScript(steps)) as model,
        running_cli(base / "home", workspace, model.url, hook=note) as cli,
    ):
        await cli.initialize("PreToolUse")
        await cli.say("do the thing")
        await cli.result()
        await cli.finish()
    return any(LINKED in all_that_the_model_was_told(one) for one in model.requests), asked


def new_file(base: Path) -> ToolUse:
    return ToolUse("Write", {"file_path": str(base / "workspace/part/new.txt"), "content": "new\n"})


@pytest.mark.parametrize("words", [name for name in WORDS if "CLAUDE" in name])
async def test_a_file_that_is_written_brings_the_words_of_its_folder_and_no_hook_is_asked(
    tmp_path: Path, words: str
) -> None:
    assert await told(tmp_path, new_file(tmp_path), words=words) == (True, ["Write"])


@pytest.mark.parametrize("words", [*WORDS, ".claude/skills/tidy/SKILL.md"])
async def test_a_file_that_is_read_brings_them_too_and_what_skills_of_its_folder_say_of_themselves(
    tmp_path: Path, words: str
) -> None:
    read = ToolUse("Read", {"file_path": str(tmp_path / "workspace/part/old.txt")})
    assert await told(tmp_path, read, words=words) == (True, ["Read"])


AT_THE_START = {
    **dict.fromkeys((*WORDS, ".claude/skills/tidy/SKILL.md"), ""),
    ".claude/output-styles/short.md": '{"outputStyle": "short"}',
}


@pytest.mark.parametrize("words", AT_THE_START)
async def test_text_that_a_link_leads_to_is_before_the_model_from_the_start_unless_the_gate_sees_the_link(
    tmp_path: Path, words: str
) -> None:
    """`settings_files.look` finds each, by which the settings of the project are left out."""
    repository = tmp_path / "workspace"
    (repository / ".claude").mkdir(parents=True)
    if settings := AT_THE_START[words]:
        (repository / ".claude/settings.json").write_text(settings)
    assert await told(tmp_path, words=words, folder="") == (True, [])
    (unread,) = look(repository).found.of("unread")
    assert unread.file == words


SHOWS = {
    **{name: f"{name} part/old.txt" for name in ("cat", "head", "tail", "nl")},
    **{name: f"{name} old part/old.txt" for name in ("grep", "egrep", "fgrep")},
    "sed": "sed -n 1p part/old.txt",
}


@pytest.mark.parametrize("name", SHOWS)
async def test_a_file_that_a_command_shows_brings_them_too(tmp_path: Path, name: str) -> None:
    assert name in TAKEN_FOR_READ
    assert await told(tmp_path, bash(SHOWS[name])) == (True, ["Bash"])


async def test_so_does_one_beside_a_shell_that_went_there_before(tmp_path: Path) -> None:
    assert await told(tmp_path, bash("cd part"), bash("cat old.txt")) == (True, ["Bash", "Bash"])


@pytest.mark.parametrize("command", ["ls part", "wc part/old.txt", "awk 1 part/old.txt", "cp part/old.txt part/b.txt"])
async def test_a_command_that_shows_no_file_as_it_is_brings_none(tmp_path: Path, command: str) -> None:
    assert await told(tmp_path, bash(command)) == (False, ["Bash"])
