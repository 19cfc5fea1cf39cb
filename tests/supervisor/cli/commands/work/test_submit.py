import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from monitors.contract.errors import UsageError
from supervisor.cli.commands.work.submit import TaskFileError, checked, raw_of, text_of
from tests.stages.daemon import Base, served
from tests.supervisor.cli.conftest import chaperon


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, which is the current directory, with a folder in it."""
    place = tmp_path / "here"
    (place / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    monkeypatch.chdir(place)
    return place


def tasks(text: str) -> list[Mapping[str, Any]]:
    return [one.fields for one in checked("plan", text, Path.cwd(), Path.cwd())]


def faults(text: str) -> list[tuple[int, str]]:
    with pytest.raises(TaskFileError) as caught:
        tasks(text)
    return [(one.line, one.says) for one in caught.value.problems]


def test_a_yaml_list_and_json_lines_say_the_same(here: Path) -> None:
    expected = [
        {"name": "a", "prompt": "A.", "repository": str(here)},
        {"prompt": "B.", "depends_on": ["a"], "repository": str(here / "sub")},
    ]
    assert tasks("- {name: a, prompt: A.}\n- {prompt: B., depends_on: a, repository: sub}\n") == expected
    lines = '{"name": "a", "prompt": "A."}\n\n{"prompt": "B.", "depends_on": "a", "repository": "sub"}\n'
    assert tasks(lines) == expected


def test_defaults_are_for_all_tasks_that_do_not_say_otherwise() -> None:
    text = "defaults: {priority: 3, labels: [x]}\ntasks:\n  - prompt: A.\n  - {prompt: B., priority: 1}\n"
    assert [(one["priority"], one["labels"]) for one in tasks(text)] == [(3, ["x"]), (1, ["x"])]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("- prompt: A.\n- prompt: B.\n  retrys: 3\n", 2, "unknown key 'retrys'; did you mean 'retries'?"),
        ("- prompt: A.\n- 3\n", 2, "a task is a mapping"),
        ("- {prompt: A.}\n- {prompt: ' '}\n", 2, "The prompt is empty"),
        ("- {prompt: A.}\n- {prompt: B., repository: /nope}\n", 2, "The repository '/nope' does not exist"),
        ("- {prompt: A.}\n- {prompt: B., repository: /}\n", 2, "'/' is not in a git worktree"),
        ("- {prompt: A.}\n- {prompt: B., labels: web}\n", 2, "labels: expected a list, found the text 'web'"),
        ("- {prompt: A.}\n- {prompt: B., goals: [3]}\n", 2, "goals[0]: expected text"),
        ("- {prompt: A.}\n- {prompt: B., merge: maybe}\n", 2, "merge: expected one of 'off', 'propose' or 'auto'"),
        ("- {prompt: A.}\n- {prompt: B., limits: {max_steps: many}}\n", 2, "limits.max_steps: expected a whole number"),
        ("- {prompt: A.}\n- {prompt: B., limits: {max_step: 3}}\n", 2, "unknown key 'max_step' in limits; did you mean 'max_steps'?"),
        ("- {prompt: A.}\n- {name: b}\n", 2, "the key 'prompt' is missing"),
        ("- {prompt: A., name: a}\n- {prompt: B., name: a}\n", 2, "name: 'a' is the name of the task in line 1"),
        ("- prompt: A.\n- {prompt: B., depends_on: [zz]}\n", 2, "depends_on: 'zz' is no name in this file"),
        ("- {prompt: A., name: a, depends_on: b}\n- {prompt: B., name: b, depends_on: a}\n", 1, "wait for one another: a → b"),
        ('{"prompt": "A."}\n{"prompt": 3}\n', 2, "prompt: expected text"),
        ('{"prompt": "A."}\n{oops\n', 2, "no JSON"),
        ('{"prompt": "A."}\n[]\n', 2, "no JSON object"),
        ("task:\n  - prompt: A.\n", 1, "'task' is neither"),
        ("- [}", 1, "invalid YAML"),
        ("", 1, "no list of tasks"),
        ("[]", 1, "there is no task in it"),
        ("- prompt: A.\n- {prompt: B., repository: 5}\n", 2, "repository: expected text"),
        ("- prompt: A.\n- {prompt: B., repository: [sub]}\n", 2, "repository: expected text"),
        ("- prompt: A.\n- {prompt: B., repository: ~no-such-user/x}\n", 2, "'~no-such-user/x' names the home of no user"),
    ],
)  # fmt: skip
def test_each_fault_of_a_file_is_told_with_its_line(text: str, line: int, says: str) -> None:
    assert any(at == line and says in what for at, what in faults(text)), faults(text)


def test_all_faults_are_told_at_once_and_many_are_counted() -> None:
    with pytest.raises(TaskFileError, match=r"plan:1: .*\n(.*\n)+… and 5 more"):
        tasks("- {prompt: 3}\n" * 25)


def test_a_task_that_depends_on_a_faulty_one_is_not_told_that_there_is_none_of_that_name() -> None:
    told = faults("- {name: a, promt: A.}\n- {name: b, prompt: B., depends_on: a}\n")
    assert {line for line, _ in told} == {1}, told


def test_a_file_that_is_not_utf_8_is_refused_with_the_line_and_not_altered() -> None:
    with pytest.raises(TaskFileError, match="plan:2: not UTF-8: byte 0xe9"):
        text_of("plan", b"- prompt: A.\n- prompt: caf\xe9\n")


def test_a_mark_of_the_byte_order_is_no_part_of_a_file() -> None:
    assert [one["prompt"] for one in tasks(text_of("plan", b'\xef\xbb\xbf{"prompt": "A."}\n{"prompt": "B."}\n'))] == [
        "A.",
        "B.",
    ]


async def test_what_only_the_daemon_finds_is_told_with_its_line_too_and_nothing_is_added(
    base: Base, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        f"- {{prompt: A., repository: {base.repo}}}\n\n- {{prompt: B., repository: {base.repo}, depends_on: t-00000000}}\n"
    )
    async with served(base):
        refused = await chaperon("submit", str(plan))
        assert (refused.exit_code, f"{plan}:3: " in refused.stderr) == (2, True), refused.stderr
        assert "'t-00000000', which is no task" in refused.stderr
        assert json.loads((await chaperon("task", "list", "--json")).output) == []


def test_a_device_without_end_is_no_file_of_tasks() -> None:
    with pytest.raises(UsageError, match="holds more than 64 MiB"):
        raw_of(Path("/dev/zero"))
