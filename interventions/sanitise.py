"""Take secrets out of what is kept for people to read: a report is mailed, pasted and kept for weeks."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "[hidden]"

_SECRETS = re.compile(
    r"""
    \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}                          # keys of model and payment services
    | \b(?:gh[pousr]|glpat|xox[abprs])[-_][A-Za-z0-9_-]{16,}    # tokens of code hosts and chats
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                             # cloud access keys
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*  # signed web tokens
    | -----BEGIN[ A-Z]*PRIVATE\ KEY-----[\s\S]*?(?:-----END[ A-Z]*PRIVATE\ KEY-----|$)
    """,
    re.VERBOSE,
)
_AFTER_A_NAME = re.compile(
    r"""(?ix)
    ( (?:password|passwd|secret|api[_-]?key|access[_-]?key|token|authorization|credentials?) [a-z0-9_-]{0,40}
      ["']? \s* (?:=|:) \s* (?:bearer\s+|basic\s+)? ["']? )
    ( [^\s"'&;,]{4,} )
    """
)
_BEARER = re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}")
_USER_IN_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://)[^\s/@:]{1,200}:[^\s/@]{1,200}@")

_SECRET_KEYS = re.compile(
    r"(?i)^(?:.*_)?(?:password|passwd|secret|api_?key|access_?key|token|authorization|credentials?)$"
)


def text(value: str) -> str:
    """The text with what looks like a secret hidden."""
    value = _SECRETS.sub(HIDDEN, value)
    value = _BEARER.sub(rf"\1{HIDDEN}", value)
    value = _AFTER_A_NAME.sub(rf"\1{HIDDEN}", value)
    return _USER_IN_URL.sub(rf"\1{HIDDEN}@", value)


def data(value: Any) -> Any:
    """Plain data with each text in it sanitised, and what stands under a secret's name hidden whole."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {
            str(key): HIDDEN if _SECRET_KEYS.match(str(key)) and isinstance(inner, str) else data(inner)
            for key, inner in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [data(inner) for inner in value]
    return value
