"""Names of variables that hold secrets, and words in which such a variable stands.

`$API_KEY` is one. `$MAX_TOKENS`, `$SECRET_NAME`, `$TOKEN_FILE` and `${#API_KEY}` are none: a number, a name, a path
and a length are no secret.
"""

import re

_SECRET = re.compile(
    r"TOKEN(?!S|IZ|_?COUNT|_?LIMIT)|SECRET|PASSW|PASSPHRASE|API_?KEY|CREDENTIAL|(?:PRIVATE|SIGNING|ENCRYPTION|MASTER)_?KEY",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"_(?:NAME|ID|ARN|FILE|PATH|URL|URI|DIR|TYPE|TTL|LENGTH|EXPIR\w*|VERSION|COUNT)\Z", re.IGNORECASE)
"""Ends of names that say something of a secret, and hold none."""
_VARIABLE = re.compile(r"\$(?:\{!?)?([A-Za-z_]\w{0,99})")
MAX_WORD = 16_384
"""Most characters of one word that are searched."""


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret, as far as its name says."""
    return _SECRET.search(name) is not None and _ABOUT.search(name) is None


def secret_variable(word: str) -> str:
    """Return the name of the first variable in the word that holds a secret; empty if there is none."""
    return next((found[1] for found in _VARIABLE.finditer(word[:MAX_WORD]) if names_secret(found[1])), "")


def mark(name: str) -> str:
    """Return the text that stands for the value of the variable."""
    return f"${{{name}}}"
