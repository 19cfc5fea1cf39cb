"""Packages that are fetched and run by their name alone: those that the project has, and those of strangers."""

from collections.abc import Mapping

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.review import NoFiles, ReviewSettings, make_reviewer
from monitors.review.scene.lookups import Kind

WORK = "/home/ann/work"
PROJECT = {
    f"{WORK}/package.json": '{"devDependencies": {"own-tool": "1.0.0", "@acme/gen": "2"}}',
    f"{WORK}/node_modules/.bin/installed": "",
    f"{WORK}/pyproject.toml": '[project]\ndependencies = ["ours>=1"]\n',
}


class Disk(NoFiles):
    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def kind(self, path: str) -> Kind:
        return "file" if path in self.files else "missing"

    def text(self, path: str, limit: int) -> str | None:
        return self.files[path][:limit] if path in self.files else None


def rule(command: str, files: Mapping[str, str] | None = PROJECT) -> str:
    facts = NoFiles() if files is None else Disk(files)
    action = Action("Bash", {"command": command}, WORK, WORK)
    return make_reviewer(ReviewSettings(), facts=facts).review(action, ReviewContext(home="/home/ann")).rule


@pytest.mark.parametrize(
    "command",
    [
        "npx strange-tool --fix",
        "npx -y strange-tool@1.2",
        "npx -p strange-tool run-it",
        "npx @stranger/tool",
        "npm exec strange-tool",
        "pnpm dlx strange-tool",
        "bunx strange-tool",
        "uvx strange-tool",
        "pipx run --spec strange-tool==1 run-it",
        "cd web && npx strange-tool",
        "npx own-tool-x",
    ],
)
def test_a_package_that_the_project_does_not_have_is_warned_of(command: str) -> None:
    assert rule(command) == "packages.run-foreign"
    assert rule(command, {}) == "packages.run-foreign"


@pytest.mark.parametrize(
    "command",
    [
        "npx own-tool --fix",
        "npx @acme/gen@2",
        "npx installed",
        "npx tsc --noEmit",
        "npx -y prettier@3 --write .",
        "npx create-vite@latest app",
        "npx @angular/cli new app",
        "uvx ours",
        "uvx ruff check",
        "npm run strange-tool",
        "npm install",
        "yarn build",
    ],
)
def test_what_it_has_and_what_many_run_is_let_be(command: str) -> None:
    assert rule(command) == ""


def test_where_nothing_is_known_of_the_project_nothing_is_said() -> None:
    assert rule("npx strange-tool", None) == ""


def test_a_list_that_the_call_itself_writes_counts() -> None:
    assert rule('echo \'{"dependencies": {"strange-tool": "1"}}\' > package.json && npm i && npx strange-tool') == ""
