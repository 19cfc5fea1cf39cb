"""Trials of this machine."""

import os
import shutil
from pathlib import Path

import pytest

from hatch_build import compile_entry
from supervisor.runtime.sandbox import entry, machine
from supervisor.runtime.sandbox.entry import abi
from supervisor.runtime.sandbox.machine import counts_by_namespace


def test_a_machine_without_bubblewrap_is_told_how_to_install_it(tmp_path: Path) -> None:
    found = machine.try_bubblewrap({"PATH": str(tmp_path)})
    assert not found.works
    assert found.says == "there is no program `bwrap` on PATH"
    assert "apt install bubblewrap" in found.mend


def test_a_bubblewrap_that_fails_is_reported_with_its_own_words(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    found = machine.try_bubblewrap({"PATH": str(tmp_path)})
    assert not found.works
    assert "setting up uid map: Permission denied" in found.says
    assert found.mend


def test_landlock_is_what_the_kernel_says() -> None:
    found = machine.landlock()
    assert (found.works, found.abi) == (abi() >= 3, abi())


def test_bubblewrap_works_or_says_why_not() -> None:
    found = machine.try_bubblewrap(os.environ)
    assert found.works or found.mend


@pytest.mark.parametrize(
    ("release", "counts"), [("6.18.4-x", True), ("5.14.0", True), ("5.13.19", False), ("4.19", False), ("odd", False)]
)
def test_old_kernels_count_the_processes_of_a_user_together(release: str, counts: bool) -> None:
    assert counts_by_namespace(release) is counts


def test_a_compiled_program_is_used_if_it_runs_and_is_of_the_source_beside_it(tmp_path: Path) -> None:
    for name in (".py", ".c"):
        shutil.copy(Path(entry.__file__).with_suffix(name), tmp_path)
    assert machine.compiled_entry(tmp_path / "entry.py") is None
    (tmp_path / "here").mkdir()
    for name in (".py", ".c"):
        shutil.copy(Path(entry.__file__).with_suffix(name), tmp_path / "here")
    made = compile_entry(tmp_path / "here")
    if made is None:
        pytest.skip("no compiler of C here")
    older = tmp_path / "older"
    shutil.copytree(tmp_path / "here", older)
    (older / "entry.c").write_text("int main(void) { return 0; }\n")
    broken = tmp_path / "broken"
    shutil.copytree(tmp_path / "here", broken)
    (broken / made.name).write_bytes(b"\x7fELF")
    assert machine.compiled_entry(made.with_name("entry.py")) == made
    assert machine.compiled_entry(older / "entry.py") is None
    assert machine.compiled_entry(broken / "entry.py") is None
