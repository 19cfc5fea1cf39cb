"""Which variables are taken to hold secrets."""

import pytest

from monitors.review.scene.secret_names import names_secret


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "NPM_TOKEN",
        "DB_PASSWORD",
        "PGPASSWORD",
        "MYSQL_PWD",
        "STRIPE_KEY",
        "SLACK_BOT_TOKEN",
        "GITHUB_PAT",
        "OPENAI_APIKEY",
        "MY_PASSPHRASE",
        "CLIENT_SECRET",
        "PRIVATE_KEY",
        "api_key",
        "HF_TOKEN",
        "SENTRY_AUTH_TOKEN",
        "CREDENTIALS",
        "DJANGO_SECRET_KEY",
        "TOKEN",
        "KEYSTORE_PASS",
        "SESSION_COOKIE",
    ],
)
def test_a_name_that_says_secret_is_taken_for_one(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "MAX_TOKENS",
        "MAX_THINKING_TOKENS",
        "TOKENIZERS_PARALLELISM",
        "KEYBOARD",
        "MONKEY",
        "PUBLIC_KEY",
        "SSH_PUBLIC_KEY",
        "API_KEY_FILE",
        "TOKEN_URL",
        "SECRET_NAME",
        "SSH_AUTH_SOCK",
        "PRIMARY_KEY",
        "CACHE_KEY",
        "PASSIVE",
        "COMPASS",
        "KEY",
        "AUTHOR",
        "NODE_ENV",
        "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
        "PATTERN",
        "GIT_AUTHOR_NAME",
        "SECRETARY",
        "PASSENGER_COUNT",
        "HOST_KEY",
    ],
)
def test_a_name_that_only_sounds_like_it_is_not(name: str) -> None:
    assert not names_secret(name)
