"""What tests of checkpoints share: a project with a repository, its store, and a capturer that is closed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkpoints.git.sealed_pack import CLEAR, StoreSeals
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer, CaptureSettings
from tests.checkpoints.support import SEALS, git


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a repository with a commit: four files, one of them a program, and a link."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "README").write_text("read me\n")
    (folder / "src").mkdir()
    (folder / "src/main.py").write_text("print(1)\n")
    (folder / "src/run.sh").write_text("#!/bin/sh\n")
    (folder / "src/run.sh").chmod(0o755)
    (folder / "src/link").symlink_to("main.py")
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@pytest.fixture
def seals(request: pytest.FixtureRequest) -> StoreSeals:
    """Return what the store is opened with; a test marked BOTH runs with each."""
    return SEALS if getattr(request, "param", "") == "sealed" else CLEAR


@pytest.fixture
def opening(seals: StoreSeals) -> Iterator[Callable[[Path, Path], Store]]:
    """Return what opens stores; each is closed at the end."""
    opened: list[Store] = []

    def open_store(folder: Path, project: Path) -> Store:
        opened.append(Store(folder, project, seals))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


@pytest.fixture
def store(opening: Callable[[Path, Path], Store], tmp_path: Path, workspace: Path) -> Store:
    """Return an empty store for the workspace."""
    return opening(tmp_path / "state", workspace)


@pytest.fixture
def capturing() -> Iterator[Callable[..., Capturer]]:
    """Return what makes capturers; each is closed at the end."""
    made: list[Capturer] = []

    def make(store: Store, workspace: Path, settings: CaptureSettings | None = None) -> Capturer:
        made.append(Capturer(store, workspace, settings or CaptureSettings()))
        return made[-1]

    yield make
    for capturer in made:
        capturer.close()


@pytest.fixture
def capturer(store: Store, workspace: Path, capturing: Callable[..., Capturer]) -> Capturer:
    """Return a capturer of the workspace."""
    return capturing(store, workspace)
