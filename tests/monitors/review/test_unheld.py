"""Data of the workspace that no checkpoint holds: git's own word for it, and names where git was not asked."""

import subprocess
from pathlib import Path

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from supervisor.runtime.filesystem import FileFacts

WORK = "/home/ann/work"
STOPPED = (Decision.BLOCK, Decision.MODIFY)


def stopped(command: str) -> bool:
    context = ReviewContext(home="/home/ann")
    return make_reviewer().review(Action("Bash", {"command": command}, WORK, WORK), context).decision in STOPPED


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf data",
        "rm -rf storage/uploads",
        "rm -rf data/raw runs/checkpoints",
        "find recordings -name '*.wav' -delete",
        "rm public/uploads/*",
        "rm data/production.sqlite3",
        "python3 -c \"import shutil, pathlib\nfor p in pathlib.Path('uploads').iterdir(): shutil.rmtree(p)\"",
        "node -e \"require('fs').rmSync('backups', {recursive: true})\"",
        "git check-ignore models && rm -rf models",
        "git ls-files -oi --exclude-standard -z | xargs -0 rm -f",
        "git status --ignored --porcelain | cut -c4- | xargs rm",
        "python3 -c \"import subprocess, os\nfor f in subprocess.check_output(['git','ls-files','-o','-i']).split(): os.unlink(f)\"",
    ],
)
def test_data_that_nothing_makes_again_is_not_deleted(command: str) -> None:
    assert stopped(command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf data/processed data/tmp",
        "rm -rf tests/fixtures/uploads src/media",
        "rm -f dev.db test.sqlite3",
        "sqlite3 report.db < schema.sql && ./run report.db && rm report.db",
        "rm uploads/logo.png",
        "git check-ignore dist debug.log && rm -rf dist debug.log",
        "git ls-files -oi --exclude-standard | grep '\\.pyc$' | xargs rm -f",
        "mv .env .env.bak",
        "mv data/production.sqlite3 /var/tmp/",
    ],
)
def test_what_is_made_again_or_found_again_may_go(command: str) -> None:
    assert not stopped(command)


def on_disk(top: Path, command: str) -> bool:
    action = Action("Bash", {"command": command}, str(top), str(top))
    context = ReviewContext(home=str(top.parent))
    return make_reviewer(facts=FileFacts()).review(action, context).decision in STOPPED


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "home/ann/work"
    for folder in ("uploads", "data/labeled", "media"):
        (top / folder).mkdir(parents=True)
        (top / folder / "one").write_text("1")
    (top / ".gitignore").write_text("uploads/\ndata/labeled\n*.db\n")
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    return top


def test_the_rules_of_git_count_before_names(repository: Path) -> None:
    assert on_disk(repository, "rm -rf uploads")
    assert not on_disk(repository, "rm -rf media")
    assert not on_disk(repository, "rm customers.sqlite3")


def test_a_directory_of_which_checkpoints_hold_a_part_is_looked_into(repository: Path) -> None:
    assert on_disk(repository, "rm -rf data")


@pytest.mark.parametrize(
    "command",
    [
        "find . -maxdepth 1 -name '.env*' ! -name '*.example' -delete",
        "find . -name '.env' -exec rm {} +",
        "find . -name '*.pem' -delete",
        "find . -name .env | xargs rm -f",
        "find . -type d -name uploads -exec rm -rf {} +",
        "rm -f .env*",
    ],
)
def test_a_find_deletes_what_it_looks_for_by_name(command: str) -> None:
    assert stopped(command)


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.pyc' -delete",
        "find . ! -name '.env' -name '*.tmp' -delete",
        "find . -name .env.example -delete",
        "find . -type d -name node_modules -exec rm -rf {} +",
        "find . -name __pycache__ | xargs rm -rf",
    ],
)
def test_a_find_that_looks_for_other_files_deletes_those(command: str) -> None:
    assert not stopped(command)
