"""Knowledge runs one way: protocol, then the pure packages, then core, then runtime, then the command line."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LAYERS = {
    "supervisor.protocol": (),
    "monitors": ("supervisor.protocol", "monitors"),
    "interventions": ("supervisor.protocol", "interventions"),
    "checkpoints": ("supervisor.protocol", "checkpoints"),
    "supervisor.core": ("supervisor.protocol", "monitors", "interventions", "checkpoints"),
    "supervisor.config": ("supervisor.protocol", "monitors", "interventions", "checkpoints"),
    "supervisor.runtime": (
        "supervisor.protocol", "monitors", "interventions", "checkpoints", "supervisor.core", "supervisor.config",
    ),
    "supervisor.testing": ("supervisor.protocol", "monitors", "interventions", "checkpoints"),
    "supervisor.rehearsal": (
        "supervisor.protocol", "monitors", "interventions", "checkpoints", "supervisor.core", "supervisor.config",
        "supervisor.runtime",
    ),
}  # fmt: skip
"""Each package, and the packages of ours that it may import beside itself."""

PURE = ("supervisor.protocol", "supervisor.core", "monitors", "interventions")
"""Packages that never touch files, clocks, processes or randomness."""

IMPURE_MODULES = frozenset(
    {
        "anyio", "asyncio", "datetime", "glob", "http", "httpx", "io", "logging", "multiprocessing", "os", "pathlib",
        "psutil", "random", "secrets", "select", "selectors", "shutil", "signal", "socket", "ssl", "subprocess",
        "tempfile", "threading", "time", "urllib.request", "uuid", "pygit2", "fastapi", "uvicorn",
    }
)  # fmt: skip
"""What gives I/O, time or chance; `posixpath` and `fnmatch` are pure and serve in their place."""

PURE_FILES_OF_CHECKPOINTS = ("checkpoints/choose.py", "checkpoints/retention.py")


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package.replace(".", "/")).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports here are absolute"
            yield node.module or ""


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


OURS = ("supervisor", "monitors", "interventions", "checkpoints")


@pytest.mark.parametrize("package", LAYERS)
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    allowed = (*LAYERS[package], package)
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sources(package)
        for name in imports(path)
        if within(name, OURS) and not within(name, allowed) and name != "supervisor"
    }
    assert not found


@pytest.mark.parametrize("package", PURE)
def test_a_pure_package_imports_no_io_no_clock_and_no_randomness(package: str) -> None:
    paths = sources(package)
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        for name in imports(path)
        if within(name, tuple(IMPURE_MODULES))
    }
    assert paths
    assert not found


@pytest.mark.parametrize("name", PURE_FILES_OF_CHECKPOINTS)
def test_the_pure_files_of_checkpoints_are_pure(name: str) -> None:
    assert not {name for name in imports(ROOT / name) if within(name, tuple(IMPURE_MODULES))}


def test_a_forbidden_import_would_be_found(tmp_path: Path) -> None:
    """The check can fail: it sees imports inside functions too."""
    path = tmp_path / "bad.py"
    path.write_text("def f():\n    import time\n    from os import path\n")
    assert set(imports(path)) == {"time", "os"}
