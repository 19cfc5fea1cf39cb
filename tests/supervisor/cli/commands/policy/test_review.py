"""The commands that review without a run, as processes with pipes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.monitors.review.test_as_json import FIELDS
from tests.stages import forked

pytestmark = pytest.mark.slow


def chaperon(*arguments: str, given: str = "", home: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "HOME": str(home)}
    return forked.run("supervisor.cli", *arguments, seconds=50, environ=environ, given=given.encode())


def answers(given: list[Any], home: Path, *more: str) -> list[dict[str, Any]]:
    lines = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in given)
    done = chaperon("review", "--jsonl", *more, given=lines, home=home)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_objects_are_answered_in_order_with_the_fields_of_the_contract(tmp_path: Path) -> None:
    write = {"tool": "Write", "input": {"file_path": "/etc/passwd", "content": "x"}, "id": 2}
    first, second = answers([{"command": "rm -rf /home/ann", "id": 1}, write], tmp_path, "--profile", "strict")
    assert set(first) == set(second) == FIELDS
    assert (first["id"], first["decision"]) == (1, "block")
    assert (second["id"], second["decision"]) == (2, "block")
    assert set(first["side_effects"][0]) == {"type", "severity", "reversible", "details"}


def test_a_line_that_cannot_be_read_is_answered_in_its_place(tmp_path: Path) -> None:
    first, second = answers(["no object", {"command": "ls"}], tmp_path)
    assert "line 1" in first["error"]
    assert second["decision"] == "allow"


def test_the_places_named_need_not_exist_and_count_as_those_of_a_run(tmp_path: Path) -> None:
    rows = [
        {"command": "rm -rf ./src/generated", "id": "inside"},
        {"command": "rm -rf ~/Documents", "id": "home"},
        {"command": "cat /home/nobody-here/.ssh/id_ed25519", "id": "secret"},
        {"command": "rm -rf ~/.local/state/chaperon", "id": "guard"},
        {"command": "rm -rf ../../up", "cwd": "src", "id": "above"},
        {"tool": "Write", "input": {"file_path": "src/a.py", "content": "1"}, "id": "write"},
    ]
    places = ("--workspace", "/home/nobody-here/work", "--home", "/home/nobody-here")
    found = {one["id"]: (one["decision"], one["rule"]) for one in answers(rows, tmp_path, *places)}
    assert found["inside"] == found["write"] == ("allow", "")
    assert found["home"][0] == found["secret"][0] == found["above"][0] == "block"
    assert found["guard"] == ("block", "chaperon.self-protection")


def test_under_the_strict_profile_a_home_that_is_named_counts(tmp_path: Path) -> None:
    (answer,) = answers([{"command": "rm -rf /elsewhere/ann"}], tmp_path, "--profile=strict", "--home=/elsewhere/ann")
    assert answer["rule"] == "chaperon.self-protection"  # whose state lies below every home


def test_lines_of_text_are_commands_and_the_answer_has_no_colour_in_a_pipe(tmp_path: Path) -> None:
    done = chaperon("review", given="ls\nrm -rf /etc\n", home=tmp_path)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["allow", "block"]
    assert "\x1b" not in done.stdout


def test_a_rule_of_the_configuration_decides_as_it_does_at_the_gate(tmp_path: Path) -> None:
    place = tmp_path / ".config" / "chaperon"
    place.mkdir(parents=True)
    rule = "rules: [{name: own.no-make, tool: Bash, match: '^make', decision: block, reason: 'Use ninja.'}]\n"
    (place / "chaperon.yaml").write_text(rule)
    (place / "chaperon.yaml").chmod(0o600)
    (answer,) = answers([{"command": "make all"}], tmp_path)
    assert (answer["decision"], answer["rule"], answer["reasoning"]) == ("block", "own.no-make", "Use ninja.")


def test_a_configuration_that_was_checked_is_not_checked_again_until_it_changes(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "c.yaml").write_text("reviewer: {risk_threshold: 0.5}\n")

    def explained() -> tuple[str, bool]:
        """What the explanation says of the threshold, and whether the configuration's model was loaded for it."""
        loaded = [sys.executable, "-X", "importtime", "-m", "supervisor.cli"]
        environ = {**os.environ, "HOME": str(tmp_path), "STATE_DIRECTORY": str(tmp_path / "state")}
        command = [*loaded, "--config", str(tmp_path / "c.yaml"), "explain", "git push"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True, env=environ)
        (said,) = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  threshold")]
        return said, "pydantic" in done.stderr

    assert [explained() for _ in range(2)] == [("0.50:", True), ("0.50:", False)]
    (tmp_path / "c.yaml").write_text("reviewer: {risk_threshold: 0.6}\n")
    assert [explained() for _ in range(2)] == [("0.60:", True), ("0.60:", False)]


def test_code_of_plugins_is_looked_at_each_time(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "rules.py").write_text("def make_rules():\n    return []\n")
    (tmp_path / "c.yaml").write_text("plugins: {rules: [rules.py]}\n")
    environ = {**os.environ, "HOME": str(tmp_path), "STATE_DIRECTORY": str(tmp_path / "state")}
    command = [sys.executable, "-m", "supervisor.cli", "--config", str(tmp_path / "c.yaml"), "rules", "--json"]
    subprocess.run(command, capture_output=True, timeout=50, check=True, env=environ)
    assert orjson.loads((tmp_path / "state" / "checked.json").read_bytes())["part"]["reviews"] is None


def test_an_explanation_names_the_stages_and_ends_with_the_decision(tmp_path: Path) -> None:
    done = chaperon("explain", "rm -rf /etc", home=tmp_path)
    stages = [line.split()[0] for line in done.stdout.splitlines() if line.endswith(" ms)")]
    assert stages[:2] == ["read", "judge"]
    assert "block risk" in done.stdout


def test_ones_own_rules_and_those_of_plugins_are_listed_first_and_matched(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(
        "from monitors.review.rules.rules import Rule\n"
        'def make_rules():\n    return [Rule("plug.deploy", ("deploy",), 0.8, "deploys", yes=("deploy",), no=("build",))]\n'
    )
    (tmp_path / "c.yaml").write_text(
        "rules: [{name: own.no-make, tool: Bash, match: '^make', decision: block, reason: Use ninja.}]\n"
        "reviewer: {rules: [{name: own.apply, match: [terraform apply], why: changes production}]}\n"
        "plugins: {rules: [rules.py]}\n"
    )
    (tmp_path / "c.yaml").chmod(0o600)

    def rules(*arguments: str) -> list[str]:
        done = chaperon("--config", str(tmp_path / "c.yaml"), "rules", "--json", *arguments, home=tmp_path)
        assert done.returncode == 0, done.stderr
        return [rule["rule"] for rule in json.loads(done.stdout)]

    assert rules()[:3] == ["own.no-make", "own.apply", "plug.deploy"]
    assert rules("--match", "make all") == ["own.no-make"]
    assert rules("--match", "env X=1 terraform -chdir=x apply")[0] == "own.apply"
    assert rules("--match", "sudo deploy") == ["plug.deploy"]


@pytest.mark.parametrize(("option", "says"), [("--test", "0 examples that do not hold"), ("--json", '"rule"')])
def test_the_rules_are_listed_and_tested(option: str, says: str, tmp_path: Path) -> None:
    done = chaperon("rules", option, home=tmp_path)
    assert done.returncode == 0
    assert says in done.stdout
