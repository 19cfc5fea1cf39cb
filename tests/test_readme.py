"""The documentation says what is so: its commands run, its excerpt is what the demo prints, its links lead somewhere."""

import json
import os
import pwd
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from monitors.contract.actions import Review
from monitors.contract.observations import ToolCalled
from monitors.contract.words import Decision, Severity
from supervisor.config.model import Config
from supervisor.config.yaml_tree import parse
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.scratch import environment
from supervisor.rehearsal.script import ModelScript, ScriptStep, ToolUse
from supervisor.runtime.assembly.plugins import DETECTORS, load
from supervisor.runtime.assembly.review_settings import review_settings
from tests.docs import ROOT
from tests.sources import PACKAGES, sources
from tests.stages import forked

README = (ROOT / "README.md").read_text()

DOCS = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))

PAGES = [
    *(path.relative_to(ROOT) for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "tests").rglob("*.md")))),
    *DOCS,
]
"""Every page for readers."""

KINDS = {"tutorial", "how-to", "reference", "explanation"}

RUN = ("alone", "alone, in a directory that has careful.yaml", "with a daemon")
"""How a block of commands can be run."""

FIRST_COLUMN = re.compile(r"^\d\d:\d\d:\d\d ", re.MULTILINE)

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with the mark above it."""

    page: Path
    mark: str
    how: str
    language: str
    text: str

    def __str__(self) -> str:
        """Page and first line, which a failed test is found by."""
        return f"{self.page}: {self.text.partition(chr(10))[0]}"

    def commands(self) -> list[str]:
        """Each line without its comment."""
        return [line.partition("  #")[0].strip() for line in self.text.splitlines() if line.strip()]


FENCE = re.compile(r"(?:^<!-- (?P<mark>\w+): (?P<how>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)  # fmt: skip


def blocks_in(page: Path, text: str) -> Iterator[Block]:
    """Every fenced block of the text."""
    for found in FENCE.finditer(text):
        yield Block(page, found["mark"] or "", found["how"] or "", found["language"], found["text"])


BLOCKS = [block for page in PAGES for block in blocks_in(page, (ROOT / page).read_text())]


def marked(mark: str, how: str = "") -> list[Block]:
    """The blocks with this mark."""
    return [block for block in BLOCKS if block.mark == mark and block.how.startswith(how)]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory with a short path, for sockets, and outside of /tmp, where deleting is nobody's loss and so is not blocked."""
    with tempfile.TemporaryDirectory(prefix=".c-", dir=pwd.getpwuid(os.getuid()).pw_dir) as name:
        yield Path(name)


@pytest.fixture
def shell(place: Path) -> Mapping[str, str]:
    """An environment in which `chaperon` is this checkout's, and everything it writes is below the test's directory."""
    folder = place / "bin"
    folder.mkdir()
    script = folder / "chaperon"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m supervisor.cli "$@"\n')
    script.chmod(0o755)
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    home = place / "home"
    runtime = place / "run"
    runtime.mkdir(mode=0o700)
    return {
        **environment(home, "http://127.0.0.1:9", path),
        "PYTHONPATH": str(ROOT),
        "XDG_RUNTIME_DIR": str(runtime),
    }


def run(command: str, shell: Mapping[str, str], where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], env=dict(shell), cwd=where, capture_output=True, text=True, timeout=100, check=False
    )


def test_every_block_of_commands_is_run_or_says_why_not() -> None:
    shell = [block for block in BLOCKS if block.language == "sh"]
    assert [str(block) for block in shell if block.mark not in ("run", "shown") or not block.how] == []
    assert [str(block) for block in marked("run") if block.how not in RUN] == []
    assert [str(block) for block in marked("run") if block.language != "sh"] == []
    assert {block.how for block in marked("run")} == set(RUN)


def test_a_block_of_commands_without_a_mark_would_be_found() -> None:
    (plain, run) = blocks_in(Path("page.md"), "```sh\nls\n```\n\n<!-- run: alone -->\n```sh\nls  # all\n```\n")
    assert (plain.mark, run.mark, run.how, run.commands()) == ("", "run", "alone", ["ls"])


def test_nothing_that_is_said_to_be_installed_is_on_no_index() -> None:
    """There is no package index with chaperon: it is installed from its clone."""
    sources = [*(ROOT / page for page in PAGES), *(ROOT / "supervisor").rglob("*.py")]
    wanted = [word for file in sources for word in re.findall(r"(?:pipx?|tool) install ([^`\s]+)", file.read_text())]
    assert wanted
    assert not [word for word in wanted if "chaperon" in word]


CHECKED_MORE = "review-an-action"
"""The page whose commands have a test of their own, which looks at what they print."""


@pytest.mark.real_cli
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "block",
    [block for block in marked("run", "alone") if block.how == "alone" and block.page.stem != CHECKED_MORE],
    ids=str,
)
def test_commands_that_need_no_daemon_run_one_after_another(
    block: Block, shell: Mapping[str, str], tmp_path: Path
) -> None:
    for command in block.commands():
        done = run(command, shell, tmp_path)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def test_an_action_can_be_asked_about_without_a_run(shell: Mapping[str, str], tmp_path: Path) -> None:
    (block,) = (block for block in marked("run") if block.page.stem == CHECKED_MORE)
    explained, reviewed, listed = (run(command, shell, tmp_path) for command in block.commands())
    assert [done.returncode for done in (explained, reviewed, listed)] == [0, 0, 0], explained.stderr + reviewed.stderr
    assert "git.push-force" in explained.stdout
    assert json.loads(reviewed.stdout)["decision"] == "block"
    assert listed.stdout.strip()


@pytest.mark.real_cli
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demo_prints_what_the_excerpt_shows(shell: Mapping[str, str], tmp_path: Path) -> None:
    (block,) = marked("demo")
    done = run("chaperon demo", shell, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = FIRST_COLUMN.sub("", COLOUR.sub("", done.stdout)).splitlines()
    at = 0
    for line in block.text.splitlines():
        wanted = re.compile(".*".join(re.escape(part.rstrip() if part.isspace() else part) for part in line.split("…")))
        found = next((n for n, other in enumerate(printed[at:], at) if wanted.fullmatch(other.rstrip())), None)
        assert found is not None, f"the demo does not print, where {block.page} shows it: {line}\n{done.stdout}"
        at = found + 1


def file(name: str) -> str:
    """The file that a page shows under this name."""
    (found,) = marked("file", name)
    return found.text


@pytest.mark.real_cli
@pytest.mark.timeout(300)
def test_the_scenario_that_is_shown_is_played_and_comes_as_it_expects(shell: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "careful.yaml").write_text(file("careful.yaml"))
    (block,) = marked("run", "alone, in a directory that has careful.yaml")
    for command in block.commands():
        done = run(command, shell, tmp_path)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def test_every_file_that_is_shown_is_used_by_a_test_here() -> None:
    assert {block.how for block in marked("file")} == {"careful.yaml", "same_page.py"}


@pytest.mark.parametrize("block", marked("config"), ids=str)
def test_a_configuration_that_is_shown_is_one(block: Block) -> None:
    context = {"home": "/home/ada", "directory": "/etc/chaperon"}
    config = Config.model_validate(parse(block.text).value, context=context)
    assert config != Config()
    review_settings(config)  # runs the examples of rules, programs and launchers


def test_the_detector_that_is_shown_is_a_plugin_that_raises_its_issue(tmp_path: Path) -> None:
    path = tmp_path / "same_page.py"
    path.write_text(file("same_page.py"))
    (plugin,) = load(DETECTORS, [str(path)])
    detector = plugin.make()
    review = Review(Decision.ALLOW, 0.0, 1.0, Severity.LOW, "A page.")
    calls = [
        ToolCalled(seq=n, mono=n, id=f"t{n}", tool="WebFetch", input={"url": "https://a.example"}, review=review)
        for n in range(9)
    ]
    issues = [issue for call in calls for issue in detector.see(call)]
    assert [(issue.type, issue.evidence) for issue in issues] == [("same_page", (0, 1, 2, 3, 4))]


def test_the_check_of_the_detector_that_is_shown_passes(shell: Mapping[str, str], tmp_path: Path) -> None:
    (block,) = marked("checked")
    (tmp_path / "same_page.py").write_text(file("same_page.py"))
    (tmp_path / "check.py").write_text(block.text)
    done = run(f"{sys.executable} check.py", shell, tmp_path)
    assert done.returncode == 0, done.stderr


LONG_CALL = ModelScript((ScriptStep((ToolUse("Bash", {"command": "until [ -e never ]; do sleep 0.5; done"}),)),))
"""Its one call takes longer than the commands to the daemon."""


@pytest.mark.real_cli
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", sorted({block.page for block in marked("run", "with a daemon")}), ids=str)
async def test_the_commands_to_a_daemon_run_one_after_another(
    page: Path, shell: Mapping[str, str], tmp_path: Path, place: Path
) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    async with ScriptedModel(LONG_CALL) as model:
        shell = {**shell, "ANTHROPIC_BASE_URL": model.url}
        daemon = forked.Program(["supervisor.cli", "serve"], env=shell, cwd=tmp_path)
        try:
            with anyio.fail_after(30):
                while not (place / "run" / "chaperon" / "chaperon.sock").exists():
                    await anyio.sleep(0.05)
            blocks = (block for block in marked("run", "with a daemon") if block.page == page)
            for command in (command for block in blocks for command in block.commands()):
                done = await anyio.to_thread.run_sync(run, command, shell, repository)
                assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
                if "--detach" in command:
                    assert done.stdout == "a1\n"
                    with anyio.fail_after(30):
                        await model.wait_for_step(0)
        finally:
            daemon.terminate()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(daemon.wait)


def heading_ids(text: str) -> set[str]:
    """The anchors of a page's headings, as code hosts and the generator of the site make them."""
    prose = FENCE.sub("", text)
    return {
        re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
        for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    }


def wrong_links(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere. A page of docs/ links to pages of docs/ only, as the site has no others."""
    within = ROOT / "docs" if page.parts[0] == "docs" else ROOT
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, heading = link.partition("#")
        target = (ROOT / page.parent / name).resolve() if name else ROOT / page
        if "://" in link:
            continue
        there = target.is_relative_to(within) and target.is_file()
        if not there or (heading and heading not in heading_ids(target.read_text() if name else text)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_to_a_page_and_a_heading_that_are_there(page: Path) -> None:
    assert wrong_links(page, (ROOT / page).read_text()) == []


@pytest.mark.parametrize("link", ["none.md", "../../README.md", "limits.md#none", "#none", "../explanation"])
def test_a_link_that_leads_nowhere_would_be_found(link: str) -> None:
    assert wrong_links(Path("docs/explanation/features.md"), f"# Here\n[text]({link})") == [link]


TOPS = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=str)
def test_every_path_of_the_source_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(rf"(?<!`)`((?:{TOPS})/[\w./-]*)`", FENCE.sub("", (ROOT / page).read_text()))
    places = [Path(name).parent if Path(name).stem == "NAME" else Path(name) for name in named]
    assert [place for place in places if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("page", DOCS, ids=str)
def test_every_name_that_a_page_says_is_in_a_file_is_in_it(page: Path) -> None:
    named = re.findall(r"`(\w+)`\s+(?:in|of)\s+`([\w/]+\.py)`", (ROOT / page).read_text())
    assert [(name, file) for name, file in named if not re.search(rf"\b{name}\b", (ROOT / file).read_text())] == []


def test_the_pages_are_of_four_kinds_and_each_is_in_the_index_and_on_the_site() -> None:
    assert {page.parts[1] for page in DOCS} == {*KINDS, "index.md"}
    index = (ROOT / "docs/index.md").read_text()
    site = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = {str(page.relative_to("docs")) for page in DOCS}
    assert sorted(site) == sorted(pages)
    assert set(re.findall(r"\]\(([^)\s]+)\)", index)) == pages - {"index.md"}


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(README.splitlines()) <= 200
    listed = set(re.findall(r"\]\((docs/[^)#\s]+)\)", README))
    assert {str(page) for page in DOCS} - listed == {"docs/index.md"}


FOREIGN = re.compile(
    r"pypi\.org|pythonhosted|files\.python|index-url|registry\.npmjs|crates\.io|proxy\.golang|/work/|/root/|/home/runner"
)
"""Hosts of package registries, and paths of a machine."""


@pytest.mark.parametrize(
    "page", [*PAGES, *map(Path, ("Makefile", "pyproject.toml", "requirements.txt", "requirements-dev.txt", "requirements-docs.txt", "mkdocs.yml", ".ci/run", ".pre-commit-config.yaml"))], ids=str
)  # fmt: skip
def test_nothing_names_a_registry_or_a_machine(page: Path) -> None:
    assert FOREIGN.findall((ROOT / page).read_text()) == []


def test_a_registry_would_be_found() -> None:
    assert FOREIGN.findall("--index-url https://pypi.org/simple")


def distribution(requirement: str) -> str:
    return re.split(r"[<>=!~\[ ]", requirement)[0]


def declared() -> set[str]:
    """What pyproject.toml asks for, those extras included whose packages are imported or looked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return {
        distribution(one) for one in (*project["dependencies"], *extras["claude"], *extras["panel"], *extras["top"])
    }


def test_every_dependency_has_its_reason_in_the_readme() -> None:
    table = README.partition("## What it stands on")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| ([a-z0-9-]+) \|", table, re.MULTILINE)) - {"package", "---"} == declared()


IMPORTED_AS = {"pyyaml": "yaml", "claude-agent-sdk": "claude_agent_sdk", "google-re2": "re2"}


def test_every_dependency_is_used_and_everything_used_is_declared() -> None:
    text = "\n".join(path.read_text() for path in sources())
    used = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE))
    own = set(PACKAGES)
    named = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in declared()}
    assert named - used == set()
    brought = {"starlette", "pydantic_core", "rich"}  # by fastapi, pydantic and textual, as their own faces
    prose = {word for word in used if word not in sys.stdlib_module_names and not _is_installed(word)}
    assert used - prose - set(sys.stdlib_module_names) - own - named - brought == set()


def _is_installed(name: str) -> bool:
    """Whether a word behind `from` is a module at all, and not a docstring's sentence."""
    return any(Path(place, name).is_dir() or Path(place, f"{name}.py").is_file() for place in sys.path if place)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-docs.txt"])
def test_pins_are_a_name_and_a_version_and_nothing_else(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    pins = [line for line in lines if line != "-r requirements.txt"]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+", line) for line in pins)
    assert len(pins) == len({pin.partition("==")[0].lower() for pin in pins})
