"""The shapes of secrets: keys and tokens, and the names of variables that hold them.

One table serves the search for secrets, and their removal from data that leaves the machine and from reports.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from monitors.contract.expressions import later


class SecretKind(NamedTuple):
    """A kind of secret."""

    name: str
    """Example: `an AWS key`."""
    words: tuple[str, ...]
    """Words of which each text with a secret of this kind has one. Their search takes a hundredth of the pattern's
    time."""
    certain: re.Pattern[str]
    """Finds a secret and hardly anything else: what it finds is reported as an issue."""
    possible: re.Pattern[str] | None = None
    """Finds torn, old or long secrets as well: in reports for people a text that is hidden needlessly does no harm.
    The group `kept` stays. None if `certain` serves."""
    whole: re.Pattern[str] | None = None
    """Finds the whole of a secret if `certain` finds its beginning. None if `certain` finds all of it."""
    scan: str = ""
    """Finds each text that may have such a secret, as a pattern without looking around; empty if the words are rare
    enough."""

    @property
    def mark(self) -> str:
        """Name of the kind in a mark that stands for such a secret. Example: `aws-key`."""
        return self.name.split(" ", 1)[1].lower().replace(" ", "-")


KINDS = (
    SecretKind(
        "a private key", ("PRIVATE KEY",),
        later(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----(?!\s*(?:[`'\")]|\.\.\.|…))"),
        possible=later(r"-----BEGIN[ A-Z]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END[ A-Z]*PRIVATE KEY(?: BLOCK)?-----|$)"),
        whole=later(
            r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----(?!\s*(?:[`'\")]|\.\.\.|…))"
            r"[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----|$)"
        ),
    ),
    SecretKind("an AWS key", ("AKIA", "ASIA"), later(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    SecretKind("an AWS secret key", ("_access_key", "_ACCESS_KEY", "_Access_Key"), later(r"aws_secret_access_key\W{1,5}[A-Za-z0-9/+=]{40}", re.IGNORECASE)),
    SecretKind(
        "a GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        later(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})\b"),
        possible=later(r"\b(?:gh[pousr]_[A-Za-z0-9_-]{16,}|github_pat_[A-Za-z0-9_]{20,})"),
    ),
    SecretKind("a GitLab token", ("glpat-",), later(r"\bglpat-[A-Za-z0-9_-]{20,}\b"), later(r"\bglpat-[A-Za-z0-9_-]{16,}")),
    SecretKind("a Slack token", ("xox",), later(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}\b"), later(r"\bxox[abeoprs][-_][A-Za-z0-9_-]{10,}")),
    SecretKind("an Anthropic key", ("sk-ant-",), later(r"\bsk-ant-[A-Za-z0-9_-]{20,}\b")),
    SecretKind(
        "an API key", ("sk-", "pk-", "rk-", "k_live_", "k_test_"),
        later(r"\bsk-(?!ant-)(?:proj-|live-|test-)?[A-Za-z0-9_-]{32,}\b|\b[rs]k_(?:live|test)_[A-Za-z0-9]{20,}\b"),
        possible=later(r"\b(?:[spr]k-[A-Za-z0-9_-]{16,}|[rs]k_(?:live|test)_[A-Za-z0-9]{10,})"),
    ),
    SecretKind("a Google key", ("AIza",), later(r"\bAIza[0-9A-Za-z_-]{35}\b"), later(r"\bAIza[0-9A-Za-z_-]{20,}")),
    SecretKind(
        "an npm or PyPI token", ("npm_", "pypi-"),
        later(r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,}\b"),
        possible=later(r"\b(?:npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{40,})"),
    ),
    SecretKind(
        "a signed web token", ("eyJ",),
        later(r"\beyJ(?:(?!eyJ)[A-Za-z0-9_-]){10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+"),
        possible=later(r"\beyJ(?:(?!eyJ)[A-Za-z0-9_-]){10,}+\.[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]*+"),
    ),
    SecretKind("a password hash", (":$",), later(r"(?m)^[a-z_][a-z0-9_-]*:\$(?:1|2[aby]|5|6|y)\$[^:\s]{8,}:")),
    SecretKind(
        "a password in an address", ("://",),
        later(r"\b[a-z][a-z0-9+.-]{1,20}://[^/\s:@]{1,100}:(?!\*|<|\$|(?i:x{3}|password@|pass@|[\w-]{0,60}(?:local|dev|test|example|changeme)[\w-]{0,60}@))[^/\s:@]{3,100}@(?!localhost\b|127\.|\[::1\])"),
        possible=later(r"(?i)\b(?P<kept>[a-z][a-z0-9+.-]{0,20}://)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)"),
        whole=later(r"(?P<kept>\b[a-z][a-z0-9+.-]{1,20}://)[^/\s:@]{1,100}:(?!\*|<|\$|(?i:x{3}|password@|pass@|[\w-]{0,60}(?:local|dev|test|example|changeme)[\w-]{0,60}@))[^/\s:@]{3,100}(?=@(?!localhost\b|127\.|\[::1\]))"),
        scan=r"://[^\s/@:\"]{1,200}:[^\s/@\"]{1,200}@",
    ),
)  # fmt: skip
"""The kinds of secrets that are known by their shape."""

BY_CONTEXT = (
    SecretKind(
        "a bearer token", ("earer ", "asic "),
        later(r"(?i)(?P<kept>\b(?:bearer|authorization: basic) )[A-Za-z0-9._~+/-]{16,}=*"),
        scan=r"(?i:bearer |authorization: basic )",
    ),
    SecretKind(
        "a password", ("ASSWORD", "assword", "PASSWD", "passwd", "TOKEN", "oken", "SECRET", "ecret", "API_KEY", "api_key", "apiKey", "ACCESS_KEY"),
        later(
            r"(?i)(?P<kept>\b(?:[a-z0-9]+[_-])*(?:password|passwd|token|secret|api_?key|secret_key|access_key|private_key)(?:[ '\"]{0,3}[=:] {0,2}['\"]{0,3}| {1,2}['\"]?))"
            r"(?=[A-Za-z0-9+/_!#%^*~-]{0,100}[0-9])(?=[A-Za-z0-9+/_!#%^*~=-]{0,100}[A-Za-z])[A-Za-z0-9+/_!#%^*~-]{8,200}={0,2}(?![A-Za-z0-9_]|[.(\[])"
        ),
        scan=r"(?i:password|passwd|token|secret|api_?key|access_key|private_key)[ '\"\\]{0,6}[=: ] {0,2}['\"\\]{0,6}[A-Za-z0-9+/_!#%^*~-]{8}",
    ),
)  # fmt: skip
"""Secrets that are known by the word before them alone. They are masked in records, and raise no issue: in code such a
word often has a made-up value behind it."""

_WORDS = tuple((word, kind) for kind in KINDS for word in kind.words)

_MARKS = later(rf"\[({'|'.join(re.escape(kind.mark) for kind in KINDS)}):[0-9a-f]{{16}}\]")
"""Marks of secrets in a masked record."""


def _kinds(text: str) -> Iterator[SecretKind]:
    """Yield the kinds of secrets that the text may have."""
    yield from dict.fromkeys(kind for word, kind in _WORDS if word in text)


def secrets_in(text: str) -> list[str]:
    """Return the names of the kinds of secrets in a text, or of marks of them: a masked record is judged as it was."""
    marks = {found[1] for found in _MARKS.finditer(text)}
    there = [kind.name for kind in _kinds(text) if kind.certain.search(text)]
    return there + [kind.name for kind in KINDS if kind.mark in marks and kind.name not in there] if marks else there


def masked(text: str) -> str:
    """Return the text with each secret replaced by its kind."""
    for kind in _kinds(text):
        text = _replaced(kind.whole or kind.certain, f"[{kind.name} was here]", text)
    return text


def _replaced(pattern: re.Pattern[str], mark: str, text: str) -> str:
    return pattern.sub(lambda found: (found.groupdict().get("kept") or "") + mark, text)


def hidden(text: str, mark: str) -> str:
    """Return the text with whatever may be a secret replaced by a mark."""
    for kind in _kinds(text):
        text = _replaced(kind.possible or kind.certain, mark, text)
    return text


_HOLDS = later(
    r"(?:PASSWORDS?|PASSWD)(?=_|$)|(?:^|_)(?:TOKENS?|SECRETS?|PASS|PWD(?<=._PWD)|PASSPHRASE|CREDENTIALS?|CREDS|PAT(?<=._PAT)|JWT|COOKIE"
    r"|(?:API|ACCESS|SECRET|PRIVATE|AUTH|SIGNING|ENCRYPTION|MASTER|ADMIN|ACCOUNT|SERVICE|LICENSE|DEPLOY|STRIPE|SHARED)_?KEY"
    r"|API[A-Z]*KEY|KEY(?<=._KEY))(?=_|$)|APIKEY|AUTHTOKEN|SECRETKEY"
)
_RATHER_ABOUT_ONE = later(
    r"(?:^|_)(?:MAX|MIN|NUM|COUNT|LIMIT|PUBLIC|PUB|HOST|SORT|PRIMARY|FOREIGN|CACHE|PARTITION|IDEMPOTENCY|GPG_SIGNING|COLOR)_"
    r"|_(?:FILE|PATH|DIR|URL|URI|NAME|TTL|TTL_MS|LIFETIME|LENGTH|SIZE|COUNT|LIMIT|TYPE|HEADER|FIELD|PREFIX|EXPIRY|EXPIRES|HELPER|"
    r"COMMAND|SOCK|SCOPES?|ENABLED|DISABLED|POLICY|ROTATION|MODE|ALGORITHM)$|^(?:OLD)?PWD$|TOKENIZERS?"
)
"""Names of what is said about a secret, of other keys, and of counts of tokens."""


def names_secret(name: str) -> bool:
    """Whether a variable of this name is taken to hold a secret. Example: `ANTHROPIC_API_KEY`, and not `MAX_TOKENS`."""
    upper = name.upper()
    return bool(_HOLDS.search(upper)) and not _RATHER_ABOUT_ONE.search(upper)
