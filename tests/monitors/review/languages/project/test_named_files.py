"""Programs that run files of a project which they find by name."""

import pytest

from monitors.review.languages.project.named_files import BY_NAME
from monitors.review.shell.invocation import Invocation, arg
from tests.monitors.review.shell.state.test_overlay import reviewed

GO = 'require("child_process").execSync("rm -rf ~/notes")'


@pytest.mark.parametrize(
    ("command", "file", "text"),
    [
        ("npx jest t.test.js", "t.test.js", GO),
        ("npx vite build", "vite.config.ts", GO),
        ("task a", "Taskfile.yml", "tasks:\n  a:\n    cmds:\n      - rm -rf ~/notes\n"),
        ("rake x", "Rakefile", 'task(:x) { sh "rm -rf ~/notes" }'),
        ("inv clean", "tasks.py", 'import os\nos.system("rm -rf ~/notes")'),
        ("pre-commit run", ".pre-commit-config.yaml", "  - id: x\n    entry: rm -rf ~/notes\n"),
        ("make -n", "Makefile", "X := $(shell rm -rf ~/notes)\nall:\n\techo\n"),
        ("cargo build", ".cargo/config.toml", '[build]\nrustc-wrapper = "rm -rf ~/notes"\n'),
    ],
)
def test_a_file_of_the_project_is_read_for_the_program_that_finds_it_by_name(
    command: str, file: str, text: str
) -> None:
    assert reviewed(command, **{file.replace(".", "__"): text}).rule == "files.delete-outside"
    assert reviewed(command).rule == ""
    assert reviewed(command, **{"other" + file.replace(".", "__"): text}).rule == ""


def test_no_more_than_a_few_of_the_named_files_are_read() -> None:
    asked: list[str] = []
    named = [arg(f"{number}.test.js") for number in range(500)]
    list(BY_NAME["jest"](Invocation(arg("jest"), named), lambda _invocation, name: asked.append(name)))
    assert len(asked) < 20
