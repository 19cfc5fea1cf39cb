"""Secrets are hidden; what a person needs to see is not."""

import pytest

from interventions import sanitise

PIECES = ("sk-" + "ant-api03-" + "a1B2" * 8, "ghp_" + "x7" * 18, "AKIA" + "ABCDEFGHIJKLMNOP", "xoxb-" + "1" * 20)


@pytest.mark.parametrize("secret", PIECES)
def test_keys_are_hidden_by_their_looks(secret: str) -> None:
    assert secret not in sanitise.text(f"curl -H x {secret} http://h")


@pytest.mark.parametrize(
    ("said", "hidden"),
    [
        ("export DB_PASSWORD=hunter22", "hunter22"),
        ('{"api_key": "abcd1234"}', "abcd1234"),
        ("Authorization: Bearer abcdefgh.ijkl", "abcdefgh"),
        ("git clone https://ann:s3cret@host/r.git", "s3cret"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ],
)
def test_what_stands_behind_a_telling_name_is_hidden(said: str, hidden: str) -> None:
    assert hidden not in sanitise.text(said)


@pytest.mark.parametrize(
    "said", ["git push origin main", "tokens: 5", "ls -l src/password_reset.py", "sk-short", "a=b"]
)
def test_ordinary_texts_stay_as_they_are(said: str) -> None:
    assert sanitise.text(said) == said


def test_data_keeps_its_shape_and_hides_what_stands_under_a_secrets_name() -> None:
    given = {
        "env": {"PG_PASSWORD": "hunter22", "auth_token": "t0p", "GH_PAT": "t0p"},
        "list": ["ok", 3, None, True],
        "tuple": (1, "x"),
    }
    hidden = {"PG_PASSWORD": sanitise.HIDDEN, "auth_token": sanitise.HIDDEN, "GH_PAT": sanitise.HIDDEN}
    assert sanitise.data(given) == {"env": hidden, "list": ["ok", 3, None, True], "tuple": [1, "x"]}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["x", "a.", "password", "a:b@", "-----BEGIN PRIVATE KEY-----", "token="])
def test_no_text_takes_more_than_one_pass(piece: str) -> None:
    assert sanitise.text(piece * 20_000)
