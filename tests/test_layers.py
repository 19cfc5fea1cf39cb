"""Knowledge runs one way: monitors, then interventions and checkpoints, then protocol, core, runtime, the command line."""

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.sources import PACKAGES

ROOT = Path(__file__).parent.parent

PARTS = ("monitors", "interventions", "checkpoints")

LAYERS = {
    "chaperon": ("monitors", "supervisor.config", "supervisor.cli"),
    "monitors": (),
    "interventions": ("monitors",),
    "checkpoints": ("monitors", "host"),
    "host": (),
    "supervisor.protocol": PARTS,
    "supervisor.core": (*PARTS, "supervisor.protocol"),
    "supervisor.config": (*PARTS, "supervisor.protocol", "supervisor.core", "host"),
    "supervisor.runtime": (*PARTS, "supervisor.protocol", "supervisor.core", "supervisor.config", "host"),
    "supervisor.testing": (*PARTS, "supervisor.protocol"),
    "supervisor.rehearsal": (*PARTS, "supervisor.protocol", "supervisor.core", "supervisor.config", "supervisor.runtime"),
    "supervisor.standalone": (*PARTS, "supervisor.protocol", "supervisor.core", "supervisor.config", "supervisor.runtime"),
    "supervisor.runtime.shim": ("host.identity",),
    "supervisor.report": (*PARTS, "supervisor.protocol", "supervisor.runtime", "supervisor.cli"),
    "supervisor.top": (*PARTS, "supervisor.protocol", "supervisor.cli", "supervisor.panel"),
    "supervisor.panel": (
        *PARTS, "supervisor.protocol", "supervisor.config", "supervisor.runtime", "supervisor.cli", "supervisor.report",
        "supervisor.rehearsal",
    ),
}  # fmt: skip
"""Each package, and the packages of ours that it may import beside itself."""

PURE = ("monitors", "interventions", "supervisor.protocol", "supervisor.core")
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


@cache
def imports(path: Path) -> tuple[str, ...]:
    found: list[str] = []
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        else:
            assert node.level == 0, f"{path}: imports here are absolute"
            found.append(node.module or "")
    return tuple(found)


@cache
def import_nodes(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return tuple(
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
    )


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


@pytest.mark.parametrize("package", LAYERS)
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    allowed = (*LAYERS[package], package)
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sources(package)
        for name in imports(path)
        if within(name, PACKAGES) and not within(name, allowed) and name != "supervisor"
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


def packages() -> list[Path]:
    return sorted(path.parent for top in PACKAGES for path in (ROOT / top).rglob("__init__.py"))


def arrows(package: Path) -> dict[str, set[str]]:
    """Which folders and modules right in a package import which others there."""
    prefix = ".".join(package.relative_to(ROOT).parts)
    graph: dict[str, set[str]] = {}
    for path in package.rglob("*.py"):
        if path.parent == package and path.name == "__init__.py":
            continue
        here = path.relative_to(package).parts[0].removesuffix(".py")
        for name in imported_modules(path):
            if name.startswith(prefix + "."):
                there = name.removeprefix(prefix + ".").split(".")[0]
                if there != here:
                    graph.setdefault(here, set()).add(there)
    return graph


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """Return what a file imports, by the names of modules: `from package import module` is that module."""
    found: set[str] = set()
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif node.module is not None:
            for alias in node.names:
                full = ROOT / node.module.replace(".", "/") / alias.name
                is_module = full.with_suffix(".py").is_file() or (full / "__init__.py").is_file()
                found.add(f"{node.module}.{alias.name}" if is_module else node.module)
    return frozenset(found)


@pytest.mark.parametrize("package", packages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_arrow_runs_back_up_within_a_package(package: Path) -> None:
    """Folders and modules of one package can be put in an order in which each imports only what stands before it."""
    try:
        list(TopologicalSorter(arrows(package)).static_order())
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_no_detector_imports_another() -> None:
    assert arrows(ROOT / "monitors/patterns") == {}


def test_the_shim_imports_the_standard_library_alone() -> None:
    paths = [*sources("supervisor.runtime.shim"), ROOT / "host/identity.py"]
    known = sys.stdlib_module_names | {"supervisor", "host"}
    assert {name.split(".")[0] for path in paths for name in imports(path)} <= known


USERS_OF_THE_DAEMON = (
    "supervisor/runtime/service.py",
    "supervisor/runtime/parts.py",
    "supervisor/runtime/serving.py",
    "supervisor/runtime/api/app.py",
)
"""Who makes the daemon, and who hands its parts to the routes. All others, each route too, are handed what they use."""


def test_nobody_but_who_makes_and_who_serves_the_daemon_knows_it_whole() -> None:
    module = "supervisor.runtime.daemon.daemon"
    known = {
        name
        for path in sources("supervisor")
        if module in imports(path) and not (name := str(path.relative_to(ROOT))).startswith(USERS_OF_THE_DAEMON)
    }
    assert known == set()


STARTS_AGENTS = (
    "supervisor.cli",
    "supervisor.rehearsal.run",
    "supervisor.runtime.daemon",
    "supervisor.runtime.processes",
    "supervisor.runtime.service",
    "supervisor.runtime.shim",
)
"""What a daemon or an agent is started by."""


def reached(path: Path) -> set[str]:
    """What a test file imports, itself or by other modules of tests."""
    found: set[str] = set()
    waiting = {path}
    while waiting:
        new = imported_modules(waiting.pop()) - found
        found |= new
        waiting |= {ROOT / f"{name.replace('.', '/')}.py" for name in new if within(name, ("tests",))}
    return found


@pytest.mark.parametrize("package", PURE)
def test_the_tests_of_a_pure_package_start_no_daemon_and_no_agent(package: str) -> None:
    files = sources(f"tests.{package}")
    assert files
    for path in files:
        wrong = sorted(name for name in reached(path) if within(name, STARTS_AGENTS))
        assert not wrong, (
            f"{path.relative_to(ROOT)} reaches {', '.join(wrong)}: move what starts something to tests/supervisor/runtime"
        )
