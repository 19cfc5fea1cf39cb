"""One table of secrets serves all who look for them, and which variables are taken to hold one."""

import pytest

from interventions import sanitise
from monitors.secret_patterns import KINDS, masked, names_secret, secrets_in

BODY = "MIIEowIBAAKCAQEA7"
SAMPLES = {
    "a private key": (f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n{BODY}\n-----END RSA PRIVATE KEY-----", BODY),
    "an AWS key": ("AKIAABCDEFGHIJKLMNOP",) * 2,
    "an AWS secret key": ("aws_secret_access_key = " + "a/B2" * 10, "a/B2" * 10),
    "a GitHub token": ("ghp_" + "a1B2" * 9,) * 2,
    "a GitLab token": ("glpat-" + "a" * 20,) * 2,
    "a Slack token": ("xoxb-1234567890-abc",) * 2,
    "an Anthropic key": ("sk-ant-api03-" + "a" * 30,) * 2,
    "an API key": ("sk_live_" + "a1" * 12,) * 2,
    "a Google key": ("AIza" + "a" * 35,) * 2,
    "an npm or PyPI token": ("npm_" + "a1" * 18,) * 2,
    "a signed web token": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop",) * 2,
    "a password hash": ("root:$6$abcdefgh$xyz:19000:0:::", "abcdefgh$xyz"),
    "a password in an address": ("postgres://bob:hunter22@db/x", "hunter22"),
}  # fmt: skip
"""For each kind a text with one, and the part of it that must not be seen."""


def test_each_kind_has_a_sample() -> None:
    assert list(SAMPLES) == [kind.name for kind in KINDS]


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_the_reviewer_finds_no_rewrite_lets_out_and_no_report_keeps(kind: str) -> None:
    text, secret = SAMPLES[kind]
    line = f"it said\n{text}\nand went on"
    assert secrets_in(line) == [kind]
    assert secret not in masked(line)
    assert secret not in sanitise.text(line)
    assert secret not in str(sanitise.data({"details": [line]}))
    for seen in (masked(line), sanitise.text(line)):
        assert seen.startswith("it said\n")
        assert seen.endswith("\nand went on")


@pytest.mark.parametrize(
    "secret", ["pypi-" + "a1" * 30, "sk-proj-" + "a" * 40, "github_pat_" + "a" * 60, "rk_test_" + "a" * 24]
)
def test_the_other_shapes_of_a_kind_are_hidden_as_well(secret: str) -> None:
    assert secrets_in(secret)
    assert secret not in masked(secret)
    assert secret not in sanitise.text(secret)


def test_a_key_whose_end_is_missing_is_hidden_to_the_end_of_the_text() -> None:
    torn = f"-----BEGIN PRIVATE KEY-----\n{BODY}\nq0"
    assert BODY not in masked(torn)
    assert BODY not in sanitise.text(torn)


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
