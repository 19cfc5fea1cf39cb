"""Names of variables that hold secrets, and words in which such a variable stands.

`$API_KEY` is one. `$MAX_TOKENS`, `$SECRET_NAME`, `$TOKEN_FILE` and `${#API_KEY}` are none: a number, a name, a path
and a length are no secret.
"""

import re
from collections.abc import Iterable

_SECRET = re.compile(
    r"TOKEN(?!S|IZ|_?COUNT|_?LIMIT)|SECRET|PASSW|PASSPHRASE|API_?KEY|CREDENTIAL|(?:PRIVATE|SIGNING|ENCRYPTION|MASTER)_?KEY|KUBE_?CONFIG_(?:B64|BASE64|DATA|CONTENT)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"_(?:NAME|ID|ARN|FILE|PATH|URL|URI|DIR|TYPE|TTL|LENGTH|EXPIR(?:(?!_EXPIR)\w)*+|VERSION|COUNT)\Z", re.IGNORECASE
)
"""Ends of names that say something of a secret, and hold none."""
_LOGIN = re.compile(
    r"(?:\A|_)(?:(?:DATABASE|DB|POSTGRES(?:QL)?|PG|MYSQL|MONGO(?:DB)?|REDIS|AMQP|RABBITMQ|BROKER|CLICKHOUSE)_(?:URL|URI|DSN)|CONNECTION_STRING)\Z",
    re.IGNORECASE,
)
"""Ends of names of variables that hold an address with the password in it."""
_VARIABLE = re.compile(r"\$(?:\{!?)?([A-Za-z_]\w{0,99})")
MAX_WORD = 16_384
"""Most characters of one word that are searched."""


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret, as far as its name says."""
    return (_SECRET.search(name) is not None and _ABOUT.search(name) is None) or _LOGIN.search(name) is not None


def secret_variable(word: str) -> str:
    """Return the name of the first variable in the word that holds a secret; empty if there is none."""
    return next((found[1] for found in _VARIABLE.finditer(word[:MAX_WORD]) if names_secret(found[1])), "")


def mark(name: str) -> str:
    """Return the text that stands for the value of the variable."""
    return f"${{{name}}}"


_SETTING = re.compile(
    r"^[ \t]{0,9}(?:export[ \t]{1,9})?([A-Z][A-Z0-9_]{2,60})=[\"']?([^\s\"'#]{6,300})[\"']?[ \t]{0,9}$", re.MULTILINE
)
"""A line of a file of settings."""
_STANDS_IN = re.compile(
    r"change|example|your|xxx|placeholder|dummy|test|dev|local|fake|sample|redacted|todo|foo|\.\.\.|[$<>{}*%…]|\A(?:secret|password|postgres|[a-z]+)\Z",
    re.IGNORECASE,
)
"""Values that stand for one that is still to be put in, or are for trial."""


def sets_secret(text: str) -> bool:
    """Whether a text is, or has lines of, a file of settings in which a secret is set to a value that looks real."""
    return any(
        names_secret(name) and any(letter.isdigit() for letter in value) and not _STANDS_IN.search(value)
        for name, value in _SETTING.findall(text[:MAX_WORD])
    )


_ISSUERS = {
    **dict.fromkeys(("GITHUB", "GH"), ("git", "ghcr", "copilot")), "GITLAB": ("git",), "BITBUCKET": ("bitbucket", "atlassian"),
    **dict.fromkeys(("NPM", "NPMJS"), ("npm", "registry", "nexus", "artifactory", "github", "gitlab")),
    **dict.fromkeys(("PYPI", "TWINE"), ("pypi", "nexus", "artifactory")), "STRIPE": ("stripe",),
    "OPENAI": ("openai", "azure", "llm", "proxy", "gateway"), "ANTHROPIC": ("anthropic", "llm", "proxy", "gateway"),
    "AWS": ("amazonaws", "aws"), "SLACK": ("slack",), "CLOUDFLARE": ("cloudflare",), "HEROKU": ("heroku",),
    "VERCEL": ("vercel",), "NETLIFY": ("netlify",), **dict.fromkeys(("HF", "HUGGINGFACE"), ("huggingface", "hf.")),
    "DOCKERHUB": ("docker",), "SENTRY": ("sentry",), "DATADOG": ("datadog",), "TWILIO": ("twilio",),
    "SENDGRID": ("sendgrid",), "DIGITALOCEAN": ("digitalocean",), "NOTION": ("notion",), "LINEAR": ("linear",),
    "SUPABASE": ("supabase",), "DISCORD": ("discord",), "TELEGRAM": ("telegram",), "PAYPAL": ("paypal",),
    "GEMINI": ("google",), "AZURE": ("azure", "microsoft", "windows", "visualstudio"), "CARGO": ("crates", "cargo"),
    **dict.fromkeys(("POSTGRES", "PG", "MYSQL", "SIGNING", "ENCRYPTION", "SSH", "SUDO", "KEYSTORE"), ()),
}  # fmt: skip
"""Parts of names of variables that say who has given a secret out, with parts of the hosts to which it may be shown; of
some kinds no host asks for it."""
_OWN_HOST = re.compile(
    r"\A(?:[^.]+|localhost|127\..*|10\..*|192\.168\..*|172\.(?:1[6-9]|2\d|3[01])\..*|.*\.(?:internal|local|lan|corp|intranet|localhost|svc))\Z"
)
"""Hosts of this machine and of one's own network."""
_COLLECTS = re.compile(
    r"(?:\A|\.)(?:webhook\.site|requestbin\.\w+|(?:m|en[\w-]*)\.pipedream\.net|beeceptor\.com|burpcollaborator\.net|oast(?:ify)?\.\w+|interact\.sh|requestcatcher\.com|hookbin\.com|postb\.in|ptsv\d\.com|mockbin\.\w+|webhook\.\w+|canarytokens\.\w+|pastebin\.com|transfer\.sh|0x0\.st|file\.io|termbin\.com|hastebin\.com|dpaste\.\w+|paste\.rs|ix\.io|sprunge\.us|clbin\.com|rentry\.co|jsonbin\.io|catbox\.moe|gofile\.io|bashupload\.com|tmpfiles\.org|filebin\.net|temp\.sh|x0\.at|anonfiles?\.\w+|ngrok(?:-free)?\.\w+|trycloudflare\.com)\Z"
)
"""Hosts that take whatever they are sent, and show it to those who set them up."""
_HOST = re.compile(r"[a-z]{2,10}://(?:[^@/\s]{0,200}@)?(\[[^\]]{1,60}\]|[\w.-]{1,253})", re.IGNORECASE)


def hosts_in(words: Iterable[str]) -> list[str]:
    """Return the hosts of the addresses among words."""
    return [found[1].lower() for word in words for found in _HOST.finditer(word[:MAX_WORD])]


def is_own_host(host: str) -> bool:
    """Whether a host is this machine, or one of one's own network."""
    return _OWN_HOST.match(host) is not None


def collects(host: str) -> bool:
    """Whether a host takes whatever it is sent, and shows it to those who set it up."""
    return _COLLECTS.search(host) is not None


def shown_to_strangers(name: str, hosts: Iterable[str]) -> bool:
    """Whether one of these hosts has no use for a secret of this name but to keep it.

    A host may ask for the secrets that it has given out itself. Who has given one out is told by the name of its
    variable, or of the program that shows it; where it is not, any host may be its own.
    """
    own = next((_ISSUERS[part] for part in name.upper().split("_") if part in _ISSUERS), None)
    for host in hosts:
        if _COLLECTS.search(host) is not None:
            return True
        if own is not None and not _OWN_HOST.match(host) and not any(part in host for part in own):
            return True
    return False
