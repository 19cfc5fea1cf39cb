"""FastAPI without what no answer needs: 3 MB of the daemon, and a tenth of the work to make its routes.

FastAPI builds checks for the words of OpenAPI, which only the description of all routes needs. It also asks of each
type that a route names whether it is of pydantic's first version, which it imports to ask.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel

FIRST_PYDANTIC = "pydantic.v1"


@contextmanager
def lean_fastapi() -> Iterator[None]:
    """Import FastAPI so that its models are built at their first use, and make routes without pydantic's first version.

    That version can be imported afterwards: a plugin may stand on it.
    """
    BaseModel.model_config["defer_build"] = True
    try:
        importlib.import_module("fastapi")
    finally:
        del BaseModel.model_config["defer_build"]
    modules: dict[str, object] = sys.modules  # type: ignore[assignment] # None stands for a module that cannot be had
    modules.setdefault(FIRST_PYDANTIC, None)
    try:
        yield
    finally:
        if modules[FIRST_PYDANTIC] is None:
            del modules[FIRST_PYDANTIC]
