"""What an agent used, asked of a daemon."""

from typing import Any

import pytest

from supervisor.protocol.events import ResourcesSeen
from tests.stages.daemon import Base, ended, served


@pytest.mark.slow
async def test_an_agents_use_comes_from_its_lines_alone(base: Base) -> None:
    base.plan("ls")
    async with served(base) as (daemon, client):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
            await ended(daemon, name)
        more: dict[str, Any] = {"cpu_seconds": 1.0, "processes": 2, "open_files": 3, "io_bytes": 4}
        seen = ResourcesSeen(**daemon.stamp("a1"), memory_mb=123.0, **more)
        await daemon.journal.written(daemon.happened(seen))
        used, other = [(await client.get(f"/v1/agents/{name}/use")).json() for name in ("a1", "a2")]
        assert used["points"][-1]["memory_mb"] == 123.0
        assert 123.0 not in [one["memory_mb"] for one in other["points"]]
        assert used["marks"][-1]["text"] == "done"
        assert (await client.get("/v1/agents/nobody/use")).status_code == 404
