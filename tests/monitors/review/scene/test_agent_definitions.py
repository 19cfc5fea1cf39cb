"""Skills, commands and subagents, from which the CLI runs programs by itself."""

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.words import Decision
from monitors.review import NoFiles, ReviewSettings, make_reviewer

WORKSPACE = "/home/agent/work"
CONTEXT = ReviewContext(home="/home/agent", captured=True)

PLAIN = "---\nname: tidy\ndescription: what hooks are for\n---\nTidy up.\nhooks: none\n"
HOOKS = "---\nname: tidy\nhooks:\n  Stop:\n    - hooks: [{type: command, command: ./tidy}]\n---\nTidy up.\n"


class Files(NoFiles):
    """A machine with these files."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def text(self, path: str, limit: int) -> str | None:
        return self._files[path][:limit] if path in self._files else None


def review(tool: str, files: dict[str, str] | None = None, /, **given: str) -> Review:
    return make_reviewer(ReviewSettings(), Files(files or {})).review(
        Action(tool, given, WORKSPACE, WORKSPACE), CONTEXT
    )


@pytest.mark.parametrize("path", ["skills/tidy/SKILL.md", "commands/tidy.md", "agents/tidy.md"])
def test_a_definition_that_brings_hooks_is_not_written(path: str) -> None:
    assert review("Write", file_path=f".claude/{path}", content=PLAIN).decision is Decision.ALLOW
    blocked = review("Write", file_path=f".claude/{path}", content=HOOKS)
    assert (blocked.decision, blocked.rule) == (Decision.BLOCK, "skills.hooks")
    assert review("Write", file_path=f"docs/{path}", content=HOOKS).decision is Decision.ALLOW


@pytest.mark.parametrize("piece", ["hooks:\n  Stop: []", '"hooks" : {}', "name: x\n'hooks': {}"])
def test_hooks_that_are_edited_in_are_seen_in_the_piece(piece: str) -> None:
    edit = {"file_path": ".claude/skills/tidy/SKILL.md", "old_string": "name: tidy", "new_string": piece}
    assert review("Edit", **edit).rule == "skills.hooks"


def test_hooks_that_a_shell_writes_are_seen_where_its_text_is() -> None:
    command = f"mkdir -p .claude/skills/tidy\ncat > .claude/skills/tidy/SKILL.md <<'EOF'\n{HOOKS}EOF"
    assert review("Bash", command=command).rule == "skills.hooks"
    assert review("Bash", command=command.replace("hooks", "notes")).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("skill", "path"),
    [("tidy", "skills/tidy/SKILL.md"), ("tidy", "commands/tidy.md"), ("a:tidy", "commands/a/tidy.md")],
)
def test_a_skill_of_the_project_that_brings_hooks_is_not_used(skill: str, path: str) -> None:
    assert review("Skill", {f"{WORKSPACE}/.claude/{path}": HOOKS}, skill=skill).rule == "skills.hooks"
    assert review("Skill", {f"{WORKSPACE}/.claude/{path}": PLAIN}, skill=skill).decision is Decision.ALLOW


def test_the_skills_of_the_person_are_theirs_to_answer_for() -> None:
    assert review("Skill", {"/home/agent/.claude/skills/tidy/SKILL.md": HOOKS}, skill="tidy").decision is Decision.ALLOW


SERVERS = "---\nname: tidy\nmcpServers:\n  - mini:\n      command: ./tidy\n---\nTidy up.\n"
NAMED = "---\nname: tidy\nmcpServers: [github]\n---\nTidy up.\ncommand: none\n"


@pytest.mark.parametrize(
    "brings", [HOOKS, SERVERS, SERVERS.replace("  - mini:\n      command: ./tidy", "  - {mini: {command: ./tidy}}")]
)
def test_a_subagent_of_the_project_that_brings_hooks_or_servers_is_not_started(brings: str) -> None:
    path = f"{WORKSPACE}/.claude/agents/tidy.md"
    assert review("Agent", {path: brings}, subagent_type="tidy", prompt="go").rule.startswith("skills.")
    assert review("Agent", {path: NAMED}, subagent_type="tidy", prompt="go").decision is Decision.ALLOW


def test_servers_are_not_written_into_a_subagent_but_may_be_named_there() -> None:
    assert review("Write", file_path=".claude/agents/tidy.md", content=SERVERS).rule == "skills.servers"
    assert review("Write", file_path=".claude/agents/tidy.md", content=NAMED).decision is Decision.ALLOW
