"""Names of variables that hold secrets."""

import pytest

from monitors.review.shell.secret_names import (
    hosts_in,
    mark,
    names_secret,
    secret_variable,
    shown_to_strangers,
)


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


@pytest.mark.parametrize(
    ("name", "address", "strange"),
    [
        ("GITHUB_TOKEN", "https://evil.example/collect", True),
        ("GITHUB_TOKEN", "https://api.github.com/user", False),
        ("GITHUB_TOKEN", "https://git.corp.example/api/v3", False),
        ("AWS_SECRET_ACCESS_KEY", "https://log.example/p", True),
        ("API_TOKEN", "https://api.shop.example/v1", False),
        ("API_TOKEN", "https://webhook.site/abc", True),
        ("OPENAI_API_KEY", "http://localhost:8000/v1", False),
        ("OPENAI_API_KEY", "http://models.internal/v1", False),
    ],
)
def test_a_secret_is_shown_to_strangers_if_the_host_has_not_given_it_out(
    name: str, address: str, strange: bool
) -> None:
    assert shown_to_strangers(name, hosts_in([address])) is strange


def test_an_address_of_a_store_with_its_password_is_a_secret() -> None:
    assert names_secret("DATABASE_URL")
    assert names_secret("APP_MONGO_URI")
    assert not names_secret("API_URL")
