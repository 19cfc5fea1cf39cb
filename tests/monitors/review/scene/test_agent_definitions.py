"""Skills, commands and subagents, from which the CLI runs programs by itself."""

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.words import Decision
from monitors.review import NoFiles, ReviewSettings, make_reviewer
from monitors.review.commands import MAX_LINES
from monitors.review.scene.agent_definitions import MAX_DEFINITION, WORDS

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

    def names(self, path: str) -> list[str]:
        return sorted(
            {each.removeprefix(f"{path}/").split("/")[0] for each in self._files if each.startswith(f"{path}/")}
        )


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


LINES = "---\nname: {name}\narguments: [what]\n---\nThe state: !`{line}`\n"
HARMLESS = "git status --short"
HARM = "rm -rf ~/notes"


@pytest.mark.parametrize("path", ["skills/tidy/SKILL.md", "commands/tidy.md", "sub/.claude/skills/tidy/SKILL.md"])
@pytest.mark.parametrize(
    "text", ["x !`{}`", "!`true\n{}`", "```!\n{}\n```", "```! bash\n{}\n```", "  ````!\n{}\n````", "```!{}"]
)
def test_a_shell_line_of_a_skill_is_reviewed_as_it_is_written(path: str, text: str) -> None:
    """The CLI runs it before any hook is asked."""
    file = f"{WORKSPACE}/{path if '.claude' in path else f'.claude/{path}'}"
    assert review("Write", file_path=file, content=text.format(HARMLESS)).decision is Decision.ALLOW
    written = review("Write", file_path=file, content=text.format(HARM))
    assert (written.decision, written.rule) == (Decision.BLOCK, "files.delete-outside")
    edited = review("Edit", file_path=file, old_string="x", new_string=text.format(HARM))
    assert edited.rule == "files.delete-outside"
    shell = "cat > {} <<'EOF'\n{}\nEOF"
    assert review("Bash", command=shell.format(file, text.format(HARM))).rule == "files.delete-outside"
    assert review("Bash", command=shell.format(file, text.format(HARMLESS))).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command",
    ["base64 -d x > {}", "sed -i s/a/b/ {}", "echo a >> {}; python3 make.py >> {}", "mv notes.md {}", "cp notes.md {}"],
)
def test_a_skill_is_not_written_with_text_that_no_review_has_read(command: str) -> None:
    path = ".claude/skills/tidy/SKILL.md"
    assert review("Bash", command=command.format(path, path)).rule == "skills.unread"
    assert review("Bash", command=command.format("docs/SKILL.md", "docs/SKILL.md")).rule != "skills.unread"
    assert review("Bash", command=f"rm {path}").decision is Decision.ALLOW
    harmless = {f"{WORKSPACE}/notes.md": PLAIN, f"{WORKSPACE}/{path}": PLAIN}
    assert review("Bash", harmless, command=f"mv notes.md {path}").decision is Decision.ALLOW
    harmful = {f"{WORKSPACE}/notes.md": LINES.format(name="tidy", line=HARM)}
    assert review("Bash", harmful, command=f"mv notes.md {path}").rule == "files.delete-outside"


@pytest.mark.parametrize(
    "command",
    [
        "chmod 644 {}",
        "touch {}",
        "chown agent {}",
        "cd . && chmod 644 {} && git add -A && git commit -m x",
        "mkdir -p .claude/skills/tidy && touch {}",
    ],
)
def test_what_brings_no_text_to_a_skill_is_not_stopped(command: str) -> None:
    path = ".claude/skills/tidy/SKILL.md"
    assert review("Bash", command=command.format(path)).rule != "skills.unread"
    assert review("Bash", command=f"{command.format(path)}; base64 -d x > {path}").rule == "skills.unread"
    assert review("Bash", command=f"{command.format(path)}; sed -i s/a/b/ {path}").rule == "skills.unread"


def test_a_skill_is_no_link_to_a_file_that_is_written_later_without_the_review_of_a_skill() -> None:
    path = ".claude/skills/tidy/SKILL.md"
    known = {f"{WORKSPACE}/notes.md": PLAIN}
    assert review("Bash", known, command=f"ln -s {WORKSPACE}/notes.md {path}").rule == "skills.unread"
    assert review("Bash", known, command=f"cp notes.md {path}").decision is Decision.ALLOW


def test_a_skill_of_more_lines_than_are_reviewed_is_not_written() -> None:
    path = ".claude/skills/tidy/SKILL.md"
    assert review("Write", file_path=path, content="!`ls`\n" * MAX_LINES).decision is Decision.ALLOW
    assert review("Write", file_path=path, content="!`ls`\n" * (MAX_LINES + 1)).rule == "shell.too-much"


@pytest.mark.parametrize("path", ["skills/tidy/SKILL.md", "commands/tidy.md", "skills/other/SKILL.md", "commands/a.md"])
@pytest.mark.parametrize("top", [WORKSPACE, "/home/agent"])
def test_shell_lines_of_a_skill_are_reviewed_as_it_is_used_wherever_it_came_from(path: str, top: str) -> None:
    def used(line: str) -> Review:
        return review("Skill", {f"{top}/.claude/{path}": LINES.format(name="tidy", line=line)}, skill="tidy")

    assert used(HARMLESS).decision is Decision.ALLOW
    assert (used(HARM).decision, used(HARM).rule) == (Decision.BLOCK, "files.delete-outside")
    assert used("git push --force").decision is Decision.BLOCK, "a skill's line cannot be changed for the call"


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        *((place, "one; rm -rf ~/notes") for place in ("$ARGUMENTS", "$0", "$ARGUMENTS[0]", "${0}", "$what")),
        *((place, '"one; rm -rf ~/notes"') for place in ("$0", "$what")),
        *((place, "$(rm -rf ~/notes)") for place in ("$ARGUMENTS", "$0", '"$ARGUMENTS"')),
        ('"$ARGUMENTS"', 'one"; rm -rf ~/notes; "'),
    ],
)
def test_arguments_of_a_skill_are_reviewed_where_its_shell_lines_have_them(place: str, arguments: str) -> None:
    """The CLI puts them in as they are."""
    files = {f"{WORKSPACE}/.claude/skills/tidy/SKILL.md": LINES.format(name="tidy", line=f"git log {place}")}
    assert review("Skill", files, skill="tidy", args="--oneline").decision is Decision.ALLOW
    assert review("Skill", files, skill="tidy", args=arguments).rule == "files.delete-outside"
    assert review("SlashCommand", files, command=f"/tidy {arguments}").rule == "files.delete-outside"


def test_a_skill_that_is_too_long_to_be_read_is_not_used() -> None:
    files = {f"{WORKSPACE}/.claude/skills/tidy/SKILL.md": PLAIN + "x\n" * MAX_DEFINITION}
    assert review("Skill", files, skill="tidy").rule == "skills.too-long"


@pytest.mark.parametrize(
    "named", ["@~/.ssh/id_rsa", '@"/home/agent/.ssh/id_rsa"', "see @../.ssh/id_rsa.", "@~/.ssh/id_rsa#L1-9"]
)
def test_files_that_a_skill_or_its_arguments_name_with_an_at_are_reviewed_as_read(named: str) -> None:
    """The CLI reads them by itself in an attached session, and asks no hook."""
    files = {f"{WORKSPACE}/.claude/skills/tidy/SKILL.md": PLAIN}
    assert review("Skill", files, skill="tidy", args=named).rule == "secrets.read"
    assert review("SlashCommand", files, command=f"/tidy {named}").rule == "secrets.read"
    assert review("Skill", {f"{WORKSPACE}/.claude/commands/tidy.md": f"{PLAIN}{named}\n"}, skill="tidy").rule == (
        "secrets.read"
    )


@pytest.mark.parametrize("named", ["@src/main.py", "ann@localhost", "@types/node", "@"])
def test_what_else_has_an_at_in_a_skill_is_let_pass(named: str) -> None:
    files = {f"{WORKSPACE}/.claude/skills/tidy/SKILL.md": f"{PLAIN}{named}\n"}
    assert review("Skill", files, skill="tidy", args=named).decision is Decision.ALLOW


class Linked(Files):
    """A machine with one link, to a file with text."""

    def __init__(self, link: str, target: str) -> None:
        super().__init__({link: PLAIN})
        self._link, self._target = link, target

    def real(self, path: str) -> str:
        return self._target if path == self._link else path


TOUCHES = {
    "Read": ("Read", {"file_path": "a/b/c.txt"}, WORKSPACE),
    "Write": ("Write", {"file_path": "a/b/c.txt", "content": "x"}, WORKSPACE),
    "Edit": ("Edit", {"file_path": "a/b/c.txt", "old_string": "x", "new_string": "y"}, WORKSPACE),
    "a command": ("Bash", {"command": "cd a && head -n 3 b/c.txt"}, WORKSPACE),
    "a command that seeks": ("Bash", {"command": "rg -n x a/b/c.txt"}, WORKSPACE),
    "a command of an editor": ("Bash", {"command": "sed -n 1,5p a/b/c.txt"}, WORKSPACE),
    "a shell that stands there": ("Bash", {"command": "cat c.txt"}, f"{WORKSPACE}/a/b"),
}


@pytest.mark.parametrize("touch", TOUCHES)
@pytest.mark.parametrize("name", [*WORDS, ".claude/skills/x/SKILL.md"])
@pytest.mark.parametrize("folder", [WORKSPACE, f"{WORKSPACE}/a", f"{WORKSPACE}/a/b"])
def test_a_file_is_not_touched_where_the_cli_would_read_a_secret_with_it(folder: str, name: str, touch: str) -> None:
    tool, given, cwd = TOUCHES[touch]

    def read(target: str) -> Review:
        reviewer = make_reviewer(ReviewSettings(), Linked(f"{folder}/{name}", target))
        return reviewer.review(Action(tool, given, cwd, WORKSPACE), CONTEXT)

    assert read(f"{WORKSPACE}/NOTES.md").decision is Decision.ALLOW
    assert read("/home/agent/.ssh/id_rsa").rule == "secrets.read"


@pytest.mark.parametrize("path", ["skills/tidy/SKILL.md", "commands/tidy.md"])
def test_a_skill_that_is_a_link_to_a_secret_is_not_used(path: str) -> None:
    def used(target: str) -> Review:
        reviewer = make_reviewer(ReviewSettings(), Linked(f"{WORKSPACE}/.claude/{path}", target))
        return reviewer.review(Action("Skill", {"skill": "tidy"}, WORKSPACE, WORKSPACE), CONTEXT)

    assert used("/home/agent/shared/tidy.md").decision is Decision.ALLOW
    assert used("/home/agent/.ssh/id_rsa").rule == "secrets.read"
