"""The step of the build that compiles the last step into a sandbox, if this machine has a compiler of C.

Without one the package is whole too: `entry.py` does the same, and takes longer to start.
"""

import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "supervisor/runtime/sandbox"


class EntryBuildHook(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Compiles `entry.c` beside its source, for this architecture, without shared libraries."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - of the interface
        """Compile it, and have the wheel take it up."""
        if compile_entry(Path(self.root, FOLDER)) is not None:
            build_data["artifacts"].append(f"{FOLDER}/entry-{platform.machine()}")


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
