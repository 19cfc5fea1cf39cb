"""The three cases of another distribution that has a package `supervisor`, each with a real interpreter and a fake distribution."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chaperon import start

MODULE = Path(start.__file__)


def other(site: Path) -> Path:
    """What a package manager leaves behind for the other distribution."""
    (site / "supervisor").mkdir(parents=True, exist_ok=True)
    (site / "supervisor/__init__.py").write_text("#\n")
    (site / "supervisor/supervisord.py").write_text("")
    info = site / "supervisor-4.2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: supervisor\nVersion: 4.2.5\n")
    return site


def ours(site: Path) -> Path:
    """Enough of ours to be started: its marks, and a command line that says hello."""
    for name, text in {
        "__init__.py": "",
        "protocol/words.py": "",
        "cli/__init__.py": "",
        "cli/__main__.py": "import sys\ndef main():\n    print('hello', *sys.argv[1:])\n    return 7\n",
    }.items():
        path = site / "supervisor" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return site


def run(tmp_path: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    """The installed script: it imports the package beside `supervisor`, as the entry point does."""
    return python(tmp_path, "from chaperon.start import main; sys.exit(main())", *path)


def python(tmp_path: Path, code: str, *path: Path) -> subprocess.CompletedProcess[str]:
    """Code in an interpreter that sees the package `chaperon` behind those directories, and nothing else."""
    scripts = tmp_path / "scripts"
    shutil.copytree(MODULE.parent, scripts / "chaperon")
    code = f"import sys; sys.path[:0] = {[str(p) for p in (*path, scripts)]}; {code}"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, "ps"], capture_output=True, text=True, timeout=30, check=False
    )


def test_ours_alone_is_started_with_its_arguments_and_exit_code(tmp_path: Path) -> None:
    done = run(tmp_path, ours(tmp_path / "a"))
    assert (done.returncode, done.stdout, done.stderr) == (7, "hello ps\n", "")


def test_theirs_before_ours_is_told_instead_of_a_failing_import(tmp_path: Path) -> None:
    done = run(tmp_path, other(tmp_path / "theirs"), ours(tmp_path / "ours"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"{tmp_path}/theirs/supervisor belongs to another distribution and hides chaperon's" in done.stderr
    assert "`pipx install .`" in done.stderr
    assert "Traceback" not in done.stderr


def test_theirs_before_ours_is_told_to_a_program_that_imports_the_client(tmp_path: Path) -> None:
    done = python(tmp_path, "import chaperon.client", other(tmp_path / "theirs"), ours(tmp_path / "ours"))
    assert done.returncode == 1
    assert f"ImportError: chaperon: The package 'supervisor' in {tmp_path}/theirs/supervisor belongs" in done.stderr


def test_both_in_one_directory_is_told_though_ours_could_be_imported(tmp_path: Path) -> None:
    done = run(tmp_path, other(ours(tmp_path / "both")))
    assert done.returncode == 1
    assert f"'supervisor' 4.2.5 is installed into {tmp_path}/both/supervisor too" in done.stderr


def test_theirs_after_ours_is_no_trouble(tmp_path: Path) -> None:
    done = run(tmp_path, ours(tmp_path / "ours"), other(tmp_path / "theirs"))
    assert (done.returncode, done.stderr) == (7, "")


def test_no_package_at_all_is_told(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert "is not installed" in done.stderr


def test_this_checkout_is_in_order() -> None:
    assert start.foreign() == ""


def test_a_distribution_whose_name_only_begins_alike_is_not_the_other_one(tmp_path: Path) -> None:
    info = ours(tmp_path / "a") / "supervisor_wildcards-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: supervisor-wildcards\nVersion: 1.0\n")
    assert run(tmp_path, tmp_path / "a").returncode == 7


@pytest.mark.slow
def test_the_wheel_puts_the_way_in_beside_the_package_and_the_units_within(tmp_path: Path) -> None:
    build = pytest.importorskip("hatchling.build")
    root = MODULE.parents[1]
    done = subprocess.run(
        [sys.executable, "-c", f"import hatchling.build as b; b.build_wheel({str(tmp_path)!r})"],
        cwd=root, capture_output=True, text=True, timeout=55, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert build is not None
    (wheel,) = tmp_path.glob("*.whl")
    listed = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(wheel)], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[0] for line in listed.splitlines()}
    assert {
        "chaperon/start.py",
        "chaperon/client.py",
        "supervisor/units/chaperon.service",
        "supervisor/docs/reference/configuration.md",
    } <= names
