"""Names of variables that hold secrets."""

import pytest

from monitors.review.shell.secret_names import mark, names_secret, secret_variable


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "github_token", "DB_PASSWORD", "SIGNING_KEY"]
)
def test_a_name_says_that_a_variable_holds_a_secret(name: str) -> None:
    assert names_secret(name)
    assert secret_variable(f"https://x.example/?k=${name}&b=1") == name
    assert secret_variable(f"a${{{name}:0:20}}") == name
    assert secret_variable(mark(name)) == name


@pytest.mark.parametrize(
    "name", ["MAX_TOKENS", "TOKEN_COUNT", "SECRET_NAME", "TOKEN_FILE", "AWS_ACCESS_KEY_ID", "KEYBOARD", "HOME"]
)
def test_a_number_a_name_and_a_path_are_no_secret(name: str) -> None:
    assert not names_secret(name)
    assert secret_variable(f"${name}") == ""


def test_a_length_and_a_word_without_a_variable_are_no_secret() -> None:
    assert secret_variable("${#API_KEY}") == ""
    assert secret_variable("API_KEY") == ""
