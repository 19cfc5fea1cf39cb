"""Names of variables that hold secrets, told by their words."""

import re

_HOLDS = re.compile(
    r"(?:PASSWORDS?|PASSWD)(?=_|$)|(?:^|_)(?:TOKENS?|SECRETS?|PASS|PWD(?<=._PWD)|PASSPHRASE|CREDENTIALS?|CREDS|PAT(?<=._PAT)|JWT|COOKIE"
    r"|(?:API|ACCESS|SECRET|PRIVATE|AUTH|SIGNING|ENCRYPTION|MASTER|ADMIN|ACCOUNT|SERVICE|LICENSE|DEPLOY|STRIPE|SHARED)_?KEY"
    r"|API[A-Z]*KEY|KEY(?<=._KEY))(?=_|$)|APIKEY|AUTHTOKEN|SECRETKEY"
)
_RATHER_ABOUT_ONE = re.compile(
    r"(?:^|_)(?:MAX|MIN|NUM|COUNT|LIMIT|PUBLIC|PUB|HOST|SORT|PRIMARY|FOREIGN|CACHE|PARTITION|IDEMPOTENCY|GPG_SIGNING|COLOR)_"
    r"|_(?:FILE|PATH|DIR|URL|URI|NAME|TTL|TTL_MS|LIFETIME|LENGTH|SIZE|COUNT|LIMIT|TYPE|HEADER|FIELD|PREFIX|EXPIRY|EXPIRES|HELPER|"
    r"COMMAND|SOCK|SCOPES?|ENABLED|DISABLED|POLICY|ROTATION|MODE|ALGORITHM)$|^(?:OLD)?PWD$|TOKENIZERS?"
)
"""Names of what is said about a secret, of other keys, and of counts of tokens."""


def names_secret(name: str) -> bool:
    """Whether a variable of this name is taken to hold a secret. Example: `ANTHROPIC_API_KEY`, and not `MAX_TOKENS`."""
    upper = name.upper()
    return bool(_HOLDS.search(upper)) and not _RATHER_ABOUT_ONE.search(upper)
