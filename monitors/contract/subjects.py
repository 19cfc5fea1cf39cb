"""The subject of a call: what its input says that it is about.

It is apart from actions: lists of agents need it alone, and an action's types take 8 ms to make.
"""

from collections.abc import Mapping
from typing import Any

SUBJECT_FIELDS = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "prompt")
"""Fields of tool inputs that say what a call is about, most telling first: a user's rules and allowances go by them."""


def subject_of(given: Mapping[str, Any]) -> str:
    """Return what a call of this input is about; empty if it does not say."""
    texts = (given.get(name) for name in SUBJECT_FIELDS)
    return next((text for text in texts if isinstance(text, str) and text), "")
