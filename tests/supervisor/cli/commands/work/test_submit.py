from pathlib import Path

import pytest

from supervisor.cli.commands.work.submit import TaskFileError, checked, text_of


def tasks(text: str) -> list[dict[str, object]]:
    return checked("plan", text, Path("/folder"), Path("/here"))


def faults(text: str) -> list[tuple[int, str]]:
    with pytest.raises(TaskFileError) as caught:
        tasks(text)
    return [(one.line, one.says) for one in caught.value.problems]


def test_a_yaml_list_and_json_lines_say_the_same() -> None:
    expected = [
        {"name": "a", "prompt": "A.", "repository": "/here"},
        {"prompt": "B.", "depends_on": ["a"], "repository": "/folder/sub"},
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
        ("- prompt: A.\n- prompt: B.\n  retrys: 3\n", 2, "retrys: Extra inputs"),
        ("- prompt: A.\n- 3\n", 2, "a task is a mapping"),
        ("- {prompt: A., name: a}\n- {prompt: B., name: a}\n", 2, "name: 'a' is the name of the task in line 1"),
        ("- prompt: A.\n- {prompt: B., depends_on: [zz]}\n", 2, "depends_on: 'zz' is no name in this file"),
        ("- {prompt: A., name: a, depends_on: b}\n- {prompt: B., name: b, depends_on: a}\n", 1, "wait for one another: a → b"),
        ('{"prompt": "A."}\n{"prompt": 3}\n', 2, "prompt: Input should be a valid string"),
        ('{"prompt": "A."}\n{oops\n', 2, "no JSON"),
        ('{"prompt": "A."}\n[]\n', 2, "no JSON object"),
        ("task:\n  - prompt: A.\n", 1, "'task' is neither"),
        ("- [}", 1, "invalid YAML"),
        ("", 1, "no list of tasks"),
        ("[]", 1, "there is no task in it"),
        ("- prompt: A.\n- {prompt: B., repository: 5}\n", 2, "repository: Input should be a valid string"),
        ("- prompt: A.\n- {prompt: B., repository: [sub]}\n", 2, "repository: Input should be a valid string"),
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
