"""A daemon whose socket is where commands of this process look for it."""

from tests.supervisor.cli.conftest import base

__all__ = ["base"]
