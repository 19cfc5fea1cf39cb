"""The wheel, installed as a stranger would have it: without the checkout, in an environment that has the dependencies."""

import os
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

import pytest

import supervisor
from tests.docs import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(cwd / "home"), "RUNTIME_DIRECTORY": str(cwd / "run")}
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the pinned hatchling with nothing fetched."""
    target = tmp_path_factory.mktemp("wheel")
    done = run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target), cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = target.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def chaperon(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed command, in an environment of its own that sees the dependencies of this one and not the checkout."""
    base = tmp_path_factory.mktemp("installed")
    done = run(sys.executable, "-m", "venv", "--without-pip", str(base / "venv"), cwd=base)
    assert done.returncode == 0, done.stderr
    python = base / "venv" / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(base / "venv"), "platbase": str(base / "venv")}))
    done = run(
        sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel), cwd=base
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # A .pth file's directories come behind those of the environment itself; its own .pth files, such as the checkout's, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return base / "venv" / "bin" / "chaperon"


def test_the_wheel_has_the_code_and_its_data_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names}
    assert tops == {
        "chaperon", "supervisor", "monitors", "interventions", "checkpoints", "host", f"chaperon-{supervisor.__version__}.dist-info",
    }  # fmt: skip
    wanted = {f"supervisor/units/{path.name}" for path in (ROOT / "systemd").iterdir()} | {
        f"supervisor/rehearsal/scenarios/{path.name}" for path in (ROOT / "supervisor/rehearsal/scenarios").glob("*.yaml")
    } | {"supervisor/rehearsal/fleets/scenarios/fleet.yaml"}  # fmt: skip
    pages = {f"supervisor/{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*.md")}
    assert "supervisor/docs/reference/configuration.md" in pages
    assert wanted | pages <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_description_of_the_package_is_the_readme(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        metadata = files.read(f"chaperon-{supervisor.__version__}.dist-info/METADATA").decode()
    assert metadata.endswith((ROOT / "README.md").read_text())


def test_a_refused_configuration_names_a_page_that_is_installed(chaperon: Path, tmp_path: Path) -> None:
    (tmp_path / "chaperon.yaml").write_text("agnet: {}\n")
    done = run(str(chaperon), "--config", str(tmp_path / "chaperon.yaml"), "serve", cwd=tmp_path)
    assert done.returncode == 2
    (page,) = re.findall(r"(/\S+configuration\.md) lists every key", " ".join(done.stderr.split()))
    assert Path(page).is_file()
    assert page.startswith(str(chaperon.parent.parent))


def test_the_installed_command_says_its_version(chaperon: Path, tmp_path: Path) -> None:
    done = run(str(chaperon), "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"chaperon, version {supervisor.__version__}\n"), done.stderr


def test_the_installed_package_is_the_one_that_runs(chaperon: Path, tmp_path: Path) -> None:
    code = "import supervisor, chaperon; print(supervisor.__file__); print(chaperon.__file__)"
    done = run(str(chaperon.with_name("python")), "-c", code, cwd=tmp_path)
    environment = str(chaperon.parent.parent)
    assert [line.startswith(environment) for line in done.stdout.splitlines()] == [True, True], (
        done.stdout + done.stderr
    )


def test_the_checks_for_authors_of_plugins_come_with_it_and_need_no_test_framework(
    chaperon: Path, tmp_path: Path
) -> None:
    code = (
        "import sys; from supervisor import testing; from monitors.detectors import *; from monitors.contract.tasks import Task;"
        "testing.check_detector(lambda: make_detectors(DetectorSettings(), Task('t', 'mend', '/w'))[0]);"
        "print(testing.__file__, {'pytest', 'hypothesis', 'tests'} & set(sys.modules))"
    )
    done = run(str(chaperon.with_name("python")), "-c", code, cwd=tmp_path)
    assert done.stdout.startswith(str(chaperon.parent.parent)), done.stderr
    assert done.stdout.endswith("set()\n")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler of C here")
def test_the_last_step_into_a_sandbox_is_installed_in_its_compiled_form(chaperon: Path, tmp_path: Path) -> None:
    code = "from supervisor.runtime.sandbox import machine, sandboxes; print(machine.compiled_entry(sandboxes.ENTRY))"
    done = run(str(chaperon.with_name("python")), "-c", code, cwd=tmp_path)
    assert done.stdout.startswith(f"{chaperon.parent.parent}/"), done.stdout + done.stderr


@pytest.mark.real_cli
def test_doctor_works_from_the_installed_package(chaperon: Path, tmp_path: Path) -> None:
    done = run(str(chaperon), "doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(chaperon.parent) in done.stdout


def test_the_installed_package_has_the_scenarios(chaperon: Path, tmp_path: Path) -> None:
    code = (
        "from supervisor.rehearsal.scenario import load, shipped\n"
        "print(sorted(load(path).name for path in shipped().values()))"
    )
    done = run(str(chaperon.with_name("python")), "-c", code, cwd=tmp_path)
    shipped = sorted(path.stem for path in (ROOT / "supervisor/rehearsal/scenarios").glob("*.yaml"))
    assert done.stdout == f"{shipped}\n", done.stderr


@pytest.mark.real_cli
def test_the_demo_runs_from_the_installed_package(chaperon: Path) -> None:
    """In a directory with a short path, for the socket, and outside of /tmp, where deleting is nobody's loss and so is not blocked."""
    with tempfile.TemporaryDirectory(prefix=".c-", dir=pwd.getpwuid(os.getuid()).pw_dir) as place:
        done = run(str(chaperon), "demo", cwd=Path(place))
    assert done.returncode == 0, done.stdout + done.stderr
