"""The author of a request: the peer, as the routes note it."""

from typing import Annotated

from fastapi import Depends, Request


async def _user(request: Request) -> str:
    """The peer's user name: the server puts it where the address of a network peer would be."""
    return request.client.host if request.client else "unknown"


By = Annotated[str, Depends(_user)]
"""A parameter of a route that FastAPI fills in with who asks."""
