"""With which calls the CLI puts a folder's CLAUDE.md before its model, asserted against the real CLI.

It asks no hook of that, so `monitors.review` looks at it with the call (`agent_definitions.words_with`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import anyio
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


@dataclass(frozen=True, slots=True)
class Told:
    """What a session showed: the words of which folders the model was told, and for which tools a hook was asked."""

    places: frozenset[str]
    asked: tuple[str, ...]


def session(base: Path, links: Iterable[str], *calls: ToolUse) -> Told:
    """Have a CLI make calls in a workspace whose words for agents are links to files outside, each with a text of its own."""
    workspace, outside = base / "workspace", base / "outside"
    outside.mkdir()
    texts = {place: f"what-stands-in-linked-file-{number}-" for number, place in enumerate(links)}
    for number, (place, text) in enumerate(texts.items()):
        link, credentials = workspace / place, outside / f"credentials{number}"
        link.parent.mkdir(parents=True, exist_ok=True)
        credentials.write_text(f"{text}\n")
        link.symlink_to(credentials)
        if place.startswith("part"):
            (workspace / Path(place).parts[0] / "old.txt").write_text("old\n")
    asked: list[str] = []

    def note(request: Frame) -> Frame:
        if event_of(request) == "PreToolUse":
            asked.append(str(request["input"]["tool_name"]))
        return {}

    async def play() -> list[str]:
        steps = *(ScriptStep((call,)) for call in calls), ScriptStep((Say("done"),))
        async with (
            ScriptedModel(ModelScript(steps)) as model,
            running_cli(base / "home", workspace, model.url, hook=note) as cli,
        ):
            await cli.initialize("PreToolUse")
            await cli.say("do the thing")
            await cli.result()
            await cli.finish()
        return [all_that_the_model_was_told(one) for one in model.requests]

    told = "\n".join(anyio.run(play))
    return Told(frozenset(place for place, text in texts.items() if text in told), tuple(asked))


def folders(places: Iterable[str]) -> dict[str, str]:
    """A folder for each, so that what brings the words of one says nothing of another."""
    return {place: f"part{number}" for number, place in enumerate(places)}


WRITTEN = folders(name for name in WORDS if "CLAUDE" in name)
READ = folders([*WORDS, ".claude/skills/tidy/SKILL.md"])


@pytest.fixture(scope="module")
def writing(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A session that writes a file in each folder."""
    base = tmp_path_factory.mktemp("writing")
    calls = [
        {"file_path": str(base / "workspace" / folder / "new.txt"), "content": "new\n"} for folder in WRITTEN.values()
    ]
    links = [f"{folder}/{words}" for words, folder in WRITTEN.items()]
    return session(base, links, *(ToolUse("Write", call) for call in calls))


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A session that reads a file in each folder."""
    base = tmp_path_factory.mktemp("reading")
    calls = [{"file_path": str(base / "workspace" / folder / "old.txt")} for folder in READ.values()]
    links = [f"{folder}/{words}" for words, folder in READ.items()]
    return session(base, links, *(ToolUse("Read", call) for call in calls))


@pytest.mark.parametrize("words", WRITTEN)
def test_a_file_that_is_written_brings_the_words_of_its_folder_and_no_hook_is_asked(writing: Told, words: str) -> None:
    assert f"{WRITTEN[words]}/{words}" in writing.places
    assert writing.asked == ("Write",) * len(WRITTEN)


@pytest.mark.parametrize("words", READ)
def test_a_file_that_is_read_brings_them_too_and_what_skills_of_its_folder_say_of_themselves(
    reading: Told, words: str
) -> None:
    assert f"{READ[words]}/{words}" in reading.places
    assert reading.asked == ("Read",) * len(READ)


AT_THE_START = {
    **dict.fromkeys((*WORDS, ".claude/skills/tidy/SKILL.md"), ""),
    ".claude/output-styles/short.md": '{"outputStyle": "short"}',
}


@pytest.mark.parametrize("words", AT_THE_START)
def test_text_that_a_link_leads_to_is_before_the_model_from_the_start_unless_the_gate_sees_the_link(
    tmp_path: Path, words: str
) -> None:
    """`settings_files.look` finds each, by which the settings of the project are left out."""
    repository = tmp_path / "workspace"
    (repository / ".claude").mkdir(parents=True)
    if settings := AT_THE_START[words]:
        (repository / ".claude/settings.json").write_text(settings)
    assert session(tmp_path, [words]) == Told(frozenset({words}), ())
    (unread,) = look(repository).found.of("unread")
    assert unread.file == words


SHOWS = {
    **{name: f"{name} {{}}/old.txt" for name in ("cat", "head", "tail", "nl")},
    **{name: f"{name} old {{}}/old.txt" for name in ("grep", "egrep", "fgrep")},
    "sed": "sed -n 1p {}/old.txt",
}
SHOWS_NONE = ("ls {}", "wc {}/old.txt", "awk 1 {}/old.txt", "cp {}/old.txt {}/b.txt")
RUN = folders((*SHOWS.values(), *SHOWS_NONE))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A session that runs each command, in a folder of its own."""
    calls = (bash(command.replace("{}", folder)) for command, folder in RUN.items())
    return session(tmp_path_factory.mktemp("running"), [f"{folder}/CLAUDE.md" for folder in RUN.values()], *calls)


@pytest.mark.parametrize("name", SHOWS)
def test_a_file_that_a_command_shows_brings_them_too(running: Told, name: str) -> None:
    assert name in TAKEN_FOR_READ
    assert f"{RUN[SHOWS[name]]}/CLAUDE.md" in running.places
    assert running.asked == ("Bash",) * len(RUN)


def test_so_does_one_beside_a_shell_that_went_there_before(tmp_path: Path) -> None:
    told = session(tmp_path, ["part/CLAUDE.md"], bash("cd part"), bash("cat old.txt"))
    assert told == Told(frozenset({"part/CLAUDE.md"}), ("Bash", "Bash"))


@pytest.mark.parametrize("command", SHOWS_NONE)
def test_a_command_that_shows_no_file_as_it_is_brings_none(running: Told, command: str) -> None:
    assert f"{RUN[command]}/CLAUDE.md" not in running.places
    assert running.asked == ("Bash",) * len(RUN)
