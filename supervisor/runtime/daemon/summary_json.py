"""Summaries of agents as JSON, for the API's list and for the archive."""

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from monitors.contract import anyjson
from supervisor.core.fold.summary import Summary

SUMMARY = TypeAdapter(Summary)


def written(summary: Summary) -> bytes:
    """A summary as JSON, as `anyjson` writes it."""
    try:
        row = SUMMARY.dump_json(summary)
    except PydanticSerializationError:  # half characters, which stand for bytes that are no UTF-8
        return anyjson.dumps(SUMMARY.dump_python(summary, mode="json"))
    if anyjson.has_escapes(row):
        return anyjson.dumps(SUMMARY.dump_python(summary, mode="json"))
    return anyjson.legible(row)


def read_summary(row: bytes) -> Summary:
    """Read what `written` gave.

    Raises:
        ValueError: It is no summary.
    """
    if anyjson.has_escapes(row):
        return SUMMARY.validate_python(anyjson.loads(row))
    return SUMMARY.validate_json(row)
