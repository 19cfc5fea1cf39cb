"""The steps of the build that compile.

The last step into a sandbox is compiled if this machine has a compiler of C. Without one the package is whole too:
`entry.py` does the same, and takes longer to start.

Reviewer and core are compiled by mypyc if the variable CHAPERON_COMPILED asks for it: `all`, or the files and folders
that shall be, between blanks. The wheel is then one for this machine and this Python. It has the sources too.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "supervisor/runtime/sandbox"

ASKED = "CHAPERON_COMPILED"

PURE = (
    "interventions/choice",
    "monitors/guarded.py",
    "monitors/per_subagent.py",
    "monitors/review",
    "monitors/signals",
    "monitors/streaks.py",
    "supervisor/core/bypass.py",
    "supervisor/core/decisions",
    "supervisor/core/fold",
    "supervisor/core/gate.py",
    "supervisor/core/limits.py",
    "supervisor/core/observing",
    "supervisor/core/session.py",
    "supervisor/protocol/claude/control.py",
    "supervisor/protocol/claude/prices.py",
    "supervisor/protocol/lines.py",
)
"""Folders and files that mypyc compiles: what each line of the CLI goes through, and where decisions spend their time.

Not `monitors/contract`, since plugins inherit from its classes, which compiled ones forbid; nor the detectors, whose
settings are found by their fields' defaults, of which mypyc keeps some only; nor what pydantic reads.
"""

INTERPRETED = {
    "monitors/review/shell/invocation.py": "its words are texts with more to them: mypyc makes no class of `str`",
    "monitors/review/shell/values.py": "an array is a list with more to it: mypyc makes no class of `list`",
    "monitors/review/shell/state/turns.py": "`zip` of a list's items ends mypyc 2.4 with an error of its own",
    "monitors/review/scene/lookups.py": "those who look at files inherit from its classes",
    "monitors/review/rules/definitions.py": "its docstring, of which mypyc keeps none, has the language's example",
    "supervisor/core/fold/summary.py": "pydantic writes and reads it, and mypyc makes `type` of `str | None`",
    "supervisor/core/decisions/stop_sequence.py": "the configuration takes its fields' defaults, of which mypyc keeps some",
}
"""Modules of them that stay as they are, and why."""

COMPILER = ("mypy==2.4.1", "setuptools>=65")


class CompilingBuildHook(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Compiles `entry.c` beside its source, without shared libraries, and what was asked for of the pure packages."""

    def dependencies(self) -> list[str]:
        """Name what is needed to build."""
        return list(COMPILER) if os.environ.get(ASKED) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and have the wheel take it up."""
        if compile_entry(Path(self.root, FOLDER)) is not None:
            build_data["artifacts"].append(f"{FOLDER}/entry-{platform.machine()}")
        asked = os.environ.get(ASKED, "").split()
        if asked and version == "standard":  # an editable one would go on with what was compiled of older sources
            self._folder = tempfile.mkdtemp()
            made = compile_pure(Path(self.root), Path(self._folder), PURE if asked == ["all"] else asked)
            build_data["force_include"].update({str(Path(self._folder, each)): each for each in made})
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - of the interface
        """Remove what was needed to build."""
        if hasattr(self, "_folder"):
            shutil.rmtree(self._folder)


def compile_pure(root: Path, into: Path, wanted: Iterable[str] = PURE) -> list[str]:
    """Compile modules of the pure packages by mypyc.

    Args:
        root: The checkout.
        into: A folder, which gets a copy of their packages and beside each compiled module what is loaded in its place.
        wanted: Files and folders of PURE.

    Returns:
        The paths of the compiled modules, below that folder.

    Raises:
        subprocess.CalledProcessError: It could not be done; what mypyc or the compiler of C said was printed.
    """
    modules = copy_pure(root, into, wanted)
    subprocess.run([sys.executable, "-P", "-c", _COMPILE, *modules], cwd=into, check=True)
    shutil.rmtree(into / "build")
    return sorted(str(path.relative_to(into)) for path in into.rglob("*.so"))


def copy_pure(root: Path, into: Path, wanted: Iterable[str] = PURE) -> list[str]:
    """Copy the packages of what is compiled into a folder, and name the modules there that mypyc is to compile."""
    for package in sorted({Path(each).parts[0] for each in PURE}):  # all: with their types more is made faster
        shutil.copytree(root / package, into / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    found = {path for each in wanted for path in (into / each).rglob("*.py")} | {into / each for each in wanted}
    modules = sorted(
        str(path.relative_to(into)) for path in found if path.suffix == ".py" and path.name != "__init__.py"
    )
    return [each for each in modules if each not in INTERPRETED]


_COMPILE = """
import os, sys
from mypyc.build import mypycify
from setuptools import Distribution
options = ["--config-file=", "--ignore-missing-imports"]
made = mypycify([*options, *sys.argv[1:]], opt_level="2", debug_level="0", multi_file=True, group_name="chaperon")
command = Distribution({"name": "chaperon", "ext_modules": made}).get_command_obj("build_ext")
command.inplace, command.parallel = True, os.cpu_count()
command.ensure_finalized()
command.run()
"""


def compile_entry(folder: Path, *more: str, quiet: bool = True) -> Path | None:
    """Compile the program in a folder, with these options too; None if that cannot be done here."""
    source = folder / "entry.c"
    program = folder / f"entry-{platform.machine()}"
    program.unlink(missing_ok=True)
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))), None)
    if compiler is None:
        return None
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    made = program.with_name(f"{program.name}.{os.getpid()}")
    options = ["-O2", "-s", "-static", "-Wall", "-Wextra", f'-DSOURCE="{digest}"']
    done = subprocess.run([compiler, *options, *more, "-o", made, source], check=False, capture_output=quiet)
    if done.returncode:
        made.unlink(missing_ok=True)
        return None
    return made.replace(program)  # a daemon may have the old one in use


if __name__ == "__main__":
    compile_pure(Path(__file__).parent, Path(sys.argv[1]))
