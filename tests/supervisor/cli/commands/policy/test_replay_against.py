"""A policy tried against recorded calls, and the report as one HTML file."""

import json
from pathlib import Path

import pytest

from tests.supervisor.cli.commands.policy.test_replay import chaperon, recording

POLICY = """\
reviewer:
  rules:
    - name: own.everything
      match: [ls]
      why: runs something
      instead: Run nothing.
"""


@pytest.fixture
def tried(tmp_path: Path) -> Path:
    path = tmp_path / "tried.yaml"
    path.write_text(POLICY)
    return path


@pytest.mark.slow
def test_each_call_that_is_decided_otherwise_is_named_with_why(tmp_path: Path, tried: Path) -> None:
    session = recording(tmp_path / "plain.jsonl", "plain")
    done = chaperon(str(session), "--against", str(tried), "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    result, _ = map(json.loads, done.stdout.splitlines())
    assert {call["was"] for call in result["against"]} == {"allow"}
    assert {call["rule"] for call in result["against"]} == {"own.everything"}
    told = chaperon(str(session), "--against", str(tried), home=tmp_path).stdout
    assert "would be decided otherwise by the policy that is tried" in told


def test_plugins_of_a_policy_that_is_tried_are_not_run(tmp_path: Path, tried: Path) -> None:
    ran = tmp_path / "ran"
    plugin = tmp_path / "own.py"
    plugin.write_text(f"open({str(ran)!r}, 'w')\nclass Own: pass\n")
    tried.write_text(f"plugins:\n  detectors: ['{plugin}']\n")
    done = chaperon(str(recording(tmp_path / "a.jsonl", "plain")), "--against", str(tried), home=tmp_path)
    assert (done.returncode, "nobody has trusted" in done.stderr) == (2, True), done.stderr
    assert not ran.exists()


@pytest.mark.slow
def test_the_report_is_one_file_that_loads_and_runs_nothing(tmp_path: Path, tried: Path) -> None:
    session, page = recording(tmp_path / "<b>plain.jsonl", "plain"), tmp_path / "report.html"
    done = chaperon(str(session), "--html", str(page), "--against", str(tried), home=tmp_path)
    assert done.returncode == 0, done.stderr
    html = page.read_text()
    assert "<svg" in html
    assert "own.everything" in html
    assert "<td>&lt;b&gt;plain.jsonl</td>" in html, "a file is named below the folder that the page names"
    assert f"<code>{tmp_path}</code>" in html
    assert "<script" not in html
    assert "src=" not in html
    refused = chaperon(str(session), "--html", str(tmp_path / "no" / "such.html"), home=tmp_path)
    assert (refused.returncode, "no/such.html" in refused.stderr) == (1, True)
