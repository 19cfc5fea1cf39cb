"""Checkpoints as JSON: what the ledger, the commits and the socket API carry."""

import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from checkpoints.model import Checkpoint


@cache
def _checkpoints() -> TypeAdapter[Checkpoint]:
    """Return what reads and writes checkpoints. It takes 15 ms to make, by which each start would be longer."""
    return TypeAdapter(Checkpoint)


def to_data(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the checkpoint as plain data, ready for any JSON encoder."""
    data: dict[str, Any] = _checkpoints().dump_python(checkpoint, mode="json")
    return data


def from_data(data: object) -> Checkpoint:
    """Return the checkpoint that this data describes.

    Raises:
        ValueError: It describes none.
    """
    try:
        return _checkpoints().validate_python(data)
    except ValidationError as error:
        raise ValueError(f"This is no checkpoint: {error}") from error


def message_of(checkpoint: Checkpoint) -> str:
    """Return the commit message: a subject for people, and trailers that suffice to write the ledger anew."""
    facts = checkpoint.facts
    trailers = {
        "Checkpoint": checkpoint.name,
        "Reason": facts.reason.value,
        "Agent": facts.agent,
        "Session": facts.position.session_id,
        "Message": facts.position.message_uuid,
        "Event": str(facts.seq),
        "Head": checkpoint.repository.head,
        "Branch": checkpoint.repository.branch,
        "Record": json.dumps(to_data(checkpoint), separators=(",", ":")),
    }
    lines = [f"Chaperon-{key}: {_one_line(value)}" for key, value in trailers.items() if value]
    return "\n".join([f"{checkpoint.name}: {_one_line(facts.note or facts.reason.value)}", "", *lines, ""])


def from_message(commit: str, message: str) -> Checkpoint:
    """Return the checkpoint that a commit message records; the commit's own id is filled in.

    Raises:
        ValueError: The message has no record.
    """
    marker = "\nChaperon-Record: "
    _, found, rest = message.partition(marker)
    if not found:
        raise ValueError(f"Commit {commit} has no record of a checkpoint.")
    return from_data({**json.loads(rest.split("\n", 1)[0]), "commit": commit})


def _one_line(value: str) -> str:
    return " ".join(value.split())
