import subprocess
import sys

import orjson

LEAN = """
import sys
import orjson
from supervisor.runtime.api.lean import FIRST_PYDANTIC, lean_fastapi

@lean_fastapi()
def make():
    from supervisor.runtime.api.app import make_api
    return make_api(None, None, None)

api = make()
from fastapi.openapi.models import OpenAPI
from pydantic import BaseModel
from supervisor.runtime.api.routes.service.health import HealthResponse
found = {
    "first": FIRST_PYDANTIC in sys.modules,
    "words of OpenAPI": OpenAPI.__pydantic_complete__,
    "answers": HealthResponse.__pydantic_complete__,
    "usual": "defer_build" not in BaseModel.model_config,
    "described": api.openapi()["paths"]["/v1/health"]["get"]["description"] != "",
}
from pydantic import v1
found["afterwards"] = FIRST_PYDANTIC in sys.modules
sys.stdout.buffer.write(orjson.dumps(found))
"""


def test_routes_are_made_without_what_only_a_description_needs_and_described_all_the_same() -> None:
    done = subprocess.run([sys.executable, "-c", LEAN], capture_output=True, timeout=60, check=True)
    assert orjson.loads(done.stdout) == {
        "first": False,
        "words of OpenAPI": False,
        "answers": True,
        "usual": True,
        "described": True,
        "afterwards": True,
    }
