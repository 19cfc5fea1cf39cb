"""Take secrets out of what is kept for people to read: a report is mailed, pasted and kept for weeks."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from monitors.secret_patterns import hidden, names_secret

HIDDEN = "[hidden]"

_AFTER_A_NAME = re.compile(
    r"""(?ix)
    ( (?:password|passwd|secret|api[_-]?key|access[_-]?key|token|authorization|credentials?) [a-z0-9_-]{0,40}
      ["']? \s* (?:=|:) \s* (?:bearer\s+|basic\s+)? ["']? )
    ( [^\s"'&;,]{4,} )
    """
)
_BEARER = re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}")
_SECRET_KEYS = re.compile(
    r"(?i)^(?:.*_)?(?:password|passwd|secret|api_?key|access_?key|token|authorization|credentials?)$"
)


def text(value: str) -> str:
    """Return the text with whatever may be a secret hidden."""
    value = _BEARER.sub(rf"\1{HIDDEN}", hidden(value, HIDDEN))
    return _AFTER_A_NAME.sub(rf"\1{HIDDEN}", value)


def data(value: Any) -> Any:
    """Plain data with each text in it sanitised, and what stands under a secret's name hidden whole."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {
            str(key): HIDDEN if isinstance(inner, str) and _holds_secret(str(key)) else data(inner)
            for key, inner in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [data(inner) for inner in value]
    return value


def _holds_secret(key: str) -> bool:
    return bool(_SECRET_KEYS.match(key)) or names_secret(key)
