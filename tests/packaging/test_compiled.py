"""A wheel whose reviewer is compiled, in part: all of it takes minutes, and `make compiled` tests it."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from hatch_build import ASKED, INTERPRETED, PURE, copy_pure
from tests.docs import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler of C here"),
    pytest.mark.skipif(
        find_spec("setuptools") is None, reason="no setuptools here, which venv brings until Python 3.11"
    ),
]

SOME = ("monitors/review/rules/levels.py", "monitors/review/verdict/rationality.py")

REVIEWS = """
import sys
sys.path.insert(0, sys.argv[1])
from monitors.contract.actions import Action, ReviewContext
from monitors.review import make_reviewer
from monitors.review.verdict import rationality
for command in ("ls", "rm -rf ~/notes", "git push --force"):
    review = make_reviewer().review(Action("Bash", {"command": command}, "/w", "/w"), ReviewContext(home="/home/ann"))
    print(review.decision, review.reasoning)
print(rationality.__file__)
"""


def reviews(folder: Path) -> list[str]:
    argv = [sys.executable, "-P", "-c", REVIEWS, str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def test_a_wheel_of_which_a_part_is_compiled_is_one_of_this_machine_and_gives_the_same_reviews(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    environ = {**os.environ, ASKED: " ".join(SOME)}
    done = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert f"-cp3{sys.version_info.minor}-" in wheel.name
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path / "installed")
    for each in SOME:
        assert (tmp_path / "installed" / each).is_file(), "the pure form is in it too"
    *found, loaded = reviews(tmp_path / "installed")
    *expected, source = reviews(ROOT)
    assert (Path(loaded).suffix, Path(source).suffix) == (".so", ".py")
    assert found == expected
    assert len(found) == 3


TAKE_UP = """
import sys
from mypy.fscache import FileSystemCache
from mypyc.build import get_mypy_config
from mypyc.codegen.emitmodule import Mapper, compile_modules_to_ir, parse_and_typecheck
from mypyc.errors import Errors
from mypyc.options import CompilerOptions
how, files = CompilerOptions(multi_file=True, group_name="chaperon"), FileSystemCache()
chosen = ["--config-file=", "--ignore-missing-imports", *sys.argv[1:]]
ours, read, options = get_mypy_config(chosen, None, how, files)
result = parse_and_typecheck(read, options, how, [(ours, "chaperon")], files)
errors = Errors(options)
taken = compile_modules_to_ir(result, Mapper({each.module: "chaperon" for each in ours}), how, errors)
errors.flush_errors()
print(len(taken))
sys.exit(errors.num_errors)
"""
"""The part of mypyc that refuses what it does not know. It takes 13 s of a processor; with the C that is written, 23."""


def test_mypyc_takes_every_module_that_it_is_to_compile(tmp_path: Path) -> None:
    modules = copy_pure(ROOT, tmp_path)
    argv = [sys.executable, "-P", "-c", TAKE_UP, *modules]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == str(len(modules))
    assert len(modules) > 100


def test_what_is_compiled_and_what_is_not_is_there() -> None:
    assert all((ROOT / each).exists() for each in PURE)
    assert all((ROOT / each).is_file() and each.startswith(PURE) for each in INTERPRETED)
