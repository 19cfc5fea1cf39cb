"""Clients of the daemon for programs, their errors, and the hook for the Claude agent SDK.

import chaperon.client

daemon = chaperon.client.SyncClient()
daemon.submit("Mend the failing test.", "/home/me/src/project", name="mender")
for record in daemon.events(agent="mender", follow=True):
    print(record["n"], record["kind"])
"""

from chaperon.start import foreign

if trouble := foreign():  # before the imports below fail with a sentence that helps no reader
    raise ImportError(f"chaperon: {trouble}")

from chaperon.calls import ApiCall, JsonObject
from chaperon.hooks import hooks
from chaperon.over import AsyncClient, SyncClient
from monitors.contract.errors import ChaperonError
from supervisor.cli.client_errors import (
    DaemonGoneError,
    MisusedError,
    NoDaemonError,
    RefusedError,
    StrangerError,
)

__all__ = [
    "ApiCall",
    "AsyncClient",
    "ChaperonError",
    "DaemonGoneError",
    "JsonObject",
    "MisusedError",
    "NoDaemonError",
    "RefusedError",
    "StrangerError",
    "SyncClient",
    "hooks",
]
