"""Files of a project that give away what is kept: secrets, a way in, the data of cards, the rows of tables.

Secrets stand in what browsers get, or in a log of builds; a table is emptied wherever its migration is applied.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from monitors.contract.expressions import sought

_FOR_TRIAL = sought(
    r"(?:\A|[/_.-])(?:tests?|testing|sandbox|examples?|sample|template|fixtures?|specs?|mocks?|e2e|stories)(?:[/_.-]|\Z)",
    "test sandbox example sample template fixture spec mock e2e stories",
)
"""Paths of what is for tests, or shows what is to be put in."""
_SOURCE = r"\.(?:py|[cm]?[jt]sx?|go|rb|php|java|kt|cs|rs|ex|exs|scala|swift|vue|svelte)\Z"
_SECRETLY = r"SECRET|PASSWORD|PASSWD|PRIVATE_KEY|SERVICE_ROLE|DATABASE_URL|DB_URL|DB_PASS|MONGO(?:DB)?_URI|REDIS_URL|ADMIN_(?:KEY|TOKEN)"
_KEY = r"\b(?:password|passwd|passphrase|pwd|pin_?code|token|secret|otp)\b"
_TEXT = r"[\"'][^\"'\n]{4,80}[\"']\)?"
_ASKS = r"(?=[\w.:]{0,40}?(?:check|verif|valid|compare|authent|match))[\w.:]{1,60}+\("

_PEOPLE = r"(?:patients?|customers?|users?|employees?|members?|clients?|accounts?|cards?|payroll|people|contacts?|orders?|payments?)"


class _Row(NamedTuple):
    path: re.Pattern[str]
    text: re.Pattern[str]
    why: str


_ROWS = (
    _Row(
        re.compile(_SOURCE[:-2] + r"\Z|/\.env(?:\.\w+)?\Z|\.(?:toml|ya?ml|json)\Z|/Dockerfile", re.IGNORECASE),
        sought(
            rf"\b(?:NEXT_PUBLIC|NUXT_PUBLIC|VITE|REACT_APP|EXPO_PUBLIC|GATSBY|VUE_APP|NG_APP)_[A-Z0-9_]{{0,40}}(?:{_SECRETLY})[A-Z0-9_]{{0,40}}[\"']?\s{{0,3}}[:=]",
            "NEXT_PUBLIC NUXT_PUBLIC VITE_ REACT_APP EXPO_PUBLIC GATSBY_ VUE_APP NG_APP",
        ),
        "puts a secret where every browser that loads the page gets it",
    ),
    _Row(
        re.compile(r"/\.github/workflows/|/\.gitlab-ci|/\.circleci/|/Jenkinsfile|azure-pipelines|bitbucket-pipelines"),
        sought(
            r"\b(?:echo|printf|cat|tee)\b[^\n|]{0,200}toJSON\(\s?secrets\s?\)"
            r"|\b(?:echo|printf)\b[^\n|]{0,100}(?:\$\{\{\s?secrets\.|\$\{?[A-Z_]{0,40}(?:SECRET|TOKEN|PASSWORD|_KEY)\b)[^\n|]{0,100}\|\s?(?:base64(?! (?:-d|-D|--decode))|rev\b|xxd\b|od\b|fold\b|sed [^\n]{0,10}s/\.|tr [^\n]{0,40}\w)",
            "echo printf cat tee",
        ),
        "shows the secrets of the repository in a log, past what hides them",
    ),
    _Row(
        re.compile(_SOURCE, re.IGNORECASE),
        sought(
            rf"{_KEY}\s?(?:!==?)\s?{_TEXT}\s?(?:&&|and)\s{{0,3}}(?:!|not )\s?{_ASKS}"
            rf"|{_KEY}\s?(?:===?|\.equals\()\s?{_TEXT}\s?(?:\|\||or)\s{{0,3}}{_ASKS}"
            rf"|{_ASKS}[^\n()]{{0,80}}\)\s?(?:\|\||or)\s{{0,3}}{_KEY}\s?===?\s?{_TEXT}"
            rf"|(?:!|not ){_ASKS}[^\n()]{{0,80}}\)\s?(?:&&|and)\s{{0,3}}{_KEY}\s?!==?\s?{_TEXT}",
            "password passwd passphrase pwd pin token secret otp",
            re.IGNORECASE,
        ),
        "lets everybody in who knows a word that stands in the source",
    ),
    _Row(
        re.compile(r"/migrat(?:e|ions?)/|/alembic/versions/|/changelogs?/", re.IGNORECASE),
        sought(
            r"\btruncate\s{1,3}(?:table\s{1,3})?(?:only\s{1,3})?(?![\w\"`.]{0,40}(?:cache|tmp|temp|session|logs?\b|queue|staging|search|index|jobs?\b|outbox|test))[\"`]?\w[\w\"`.]{0,60}(?:\s{0,3},|\s{0,3}[;'\"]|\s{1,3}(?:cascade|restart|if|unless)\b)|\bdrop\s{1,3}database\b",
            "truncate drop",
            re.IGNORECASE,
        ),
        "empties tables wherever the migration is applied",
    ),
    _Row(
        re.compile(_SOURCE, re.IGNORECASE),
        sought(
            r"\b(?:log|logger|logging|console|slog|print|println|printf|puts)\b[\w.:]{0,20}\s?\(?[^\n]{0,160}?(?:\{|,\s?|\+\s?)[\w.]{0,40}(?:\bcvv|\bcvc|card\.(?:number|pan)|card_?number|\.ssn)\b(?![^\n]{0,3}(?:\[|\.(?:last|slice|mask|sub|re)))",
            "cvv cvc card ssn",
            re.IGNORECASE,
        ),
        "writes the data of cards or people to a log as they are",
    ),
    _Row(
        re.compile(_SOURCE, re.IGNORECASE),
        sought(
            r"\b(?:log|logger|logging|slog|console)\.\w{1,12}\([^\n]{0,200}?(?:,\s?(?:\w{1,30}\.){0,2}|\{|\+\s?)(?:password|passwd|passphrase)\s?[,)}+]",
            "password passwd passphrase",
            re.IGNORECASE,
        ),
        "writes passwords to a log",
    ),
    _Row(
        re.compile(r"\.ipynb\Z"),
        sought(
            rf"https?://(?!localhost|127\.)[^\n]{{0,200}}?\b{_PEOPLE}\.to_(?:dict|json|csv|records|parquet)\b",
            ".to_dict .to_json .to_csv .to_records .to_parquet",
        ),
        "sends a table of people to another machine",
    ),
    _Row(
        re.compile(_SOURCE, re.IGNORECASE),
        sought(
            rf"https?://[\w.-]{{1,80}}\.(?:top|click|xyz|tk|gq|icu|cc|ws)\b[^\n]{{0,200}}?\b{_PEOPLE}\.(?:to_\w|as_json|dump)",
            ".top .click .xyz .tk .gq .icu .cc .ws",
        ),
        "sends data of people to a stranger's machine",
    ),
)


def given_away(path: str, text: str) -> Iterator[str]:
    """Yield what a file gives away, each as a clause.

    Args:
        path: Within the workspace.
        text: What the file has, or a piece of it.
    """
    rows = [row for row in _ROWS if row.path.search(path)]
    if rows and not _FOR_TRIAL.search(path.lower()):
        yield from (row.why for row in rows if row.text.search(text))
