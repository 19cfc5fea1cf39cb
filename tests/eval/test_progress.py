"""How far the evaluation and the benchmarks are, while they last."""

import sys
from pathlib import Path

import orjson
import pytest

import tests.bench.__main__ as bench
import tests.eval.__main__ as evaluation


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.cli.output.progress.QUIET_SECONDS", (0.0, 3_600.0))


def test_benchmarks_say_which_of_how_many_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(bench.BENCHES, "core", list)
    monkeypatch.setattr(sys, "argv", ["bench", "--only", "core"])
    assert bench.main() == 0
    assert capsys.readouterr().err.splitlines() == ["measuring: 0 of 1 benchmark, 0 %"]


def test_the_evaluation_says_how_many_of_all_commands_were_reviewed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    row = orjson.dumps({"command": "ls", "source": "test", "expected": "allow"})
    for name in ("labelled", "unlabelled"):
        (tmp_path / f"{name}.jsonl").write_bytes(row + b"\n")
    monkeypatch.setattr("tests.eval.measure.HOSTILE", {})
    monkeypatch.setattr("tests.eval.in_workspace.report", str)
    monkeypatch.setattr(sys, "argv", ["eval", str(tmp_path)])
    assert evaluation.main() == 0
    assert capsys.readouterr().err.splitlines() == ["reviewing: 0 of 2 commands, 0 %"]
