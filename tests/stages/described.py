"""Daemons of one process whose routes are described once: pydantic takes 20 ms of a processor for all of them each time.

The routes are made anew for each daemon, of the same types. What pydantic makes of a type knows nothing of a daemon.
"""

from typing import Any

from fastapi._compat.v2 import ModelField, asdict
from pydantic import TypeAdapter

_describe = ModelField.__post_init__

_known: dict[tuple[object, ...], TypeAdapter[Any]] = {}


def _describe_once(field: ModelField) -> None:
    about = asdict(field.field_info)
    kind = about["annotation"]
    try:
        key = (kind, repr(kind), repr(about["metadata"]), repr(about["attributes"]), repr(field.config))
        known = _known.get(key)
    except TypeError:  # a kind without a hash
        return _describe(field)
    if known is None:
        _describe(field)
        _known[key] = field._type_adapter
    else:
        field._type_adapter = known
    return None


def describe_once() -> None:
    """Have types of routes described once, from here on in this process."""
    setattr(ModelField, ModelField.__post_init__.__name__, _describe_once)
