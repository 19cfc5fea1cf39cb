"""Text from outside, made plain: what acts instead of being shown is spelled out."""

import re

from monitors.contract.anyjson import ACTING

ACTS = rf"[\x00-\x08\x0b-\x1f\ud800-\udfff{ACTING}]"
"""A character that a terminal or a reader of lines obeys, or that cannot be written; line breaks and tabs are not
among them."""

_ACTS = re.compile(ACTS)


def harmless(text: str) -> str:
    r"""The text with escapes such as `\x1b` and `\u202e` for what acts; line breaks and tabs stay."""
    return _ACTS.sub(lambda found: spelled(found[0]), text)


def spelled(character: str) -> str:
    r"""How a character that acts is shown. Of a name that is no UTF-8, `\xff` is the byte itself, as PEP 383 has it."""
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
