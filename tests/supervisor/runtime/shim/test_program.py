"""The program's beginning: what it loads, and what it says when it fails."""

import json
import subprocess
import sys
from pathlib import Path

from supervisor.runtime.shim import program

ROOT = Path(__file__).parents[4]

LOAD = (
    "import json, sys\n"
    "sys.path.append(sys.argv[1])\n"
    "before = list(sys.path)\n"
    "import supervisor.runtime.shim.program\n"
    "print(json.dumps({'modules': sorted(sys.modules), 'path_kept': before == sys.path}))\n"
)


def loaded() -> dict[str, object]:
    command = [sys.executable, "-I", "-S", "-E", "-c", LOAD, str(ROOT)]
    answer: dict[str, object] = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=30).stdout)
    return answer


def test_it_needs_the_standard_library_alone_and_of_that_no_costly_module() -> None:
    modules = loaded()["modules"]
    assert isinstance(modules, list)
    tops = {name.partition(".")[0] for name in modules}
    assert tops - sys.stdlib_module_names <= {"supervisor", "host", "__main__"}
    assert not tops & {
        "pathlib",
        "subprocess",
        "asyncio",
        "traceback",
        "dataclasses",
        "logging",
        "tempfile",
        "threading",
    }


def test_importing_it_changes_nothing() -> None:
    assert loaded()["path_kept"] is True


def test_places_name_where_an_error_came_from_innermost_first() -> None:
    try:
        json.loads("no json")
    except ValueError as error:
        found = program.places(error)
    assert found[0].endswith("in raw_decode")
    assert "in test_places_name" in found[-1]


def test_a_directory_without_a_spec_is_an_error_and_not_a_shim(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-E", program.__file__, str(tmp_path), "0"]
    answer = subprocess.run(command, capture_output=True, check=False, timeout=30)
    assert answer.returncode == 1
    assert b"spec.json" in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
