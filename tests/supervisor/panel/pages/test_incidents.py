"""The page of an incident."""

import pytest

from tests.stages.daemon import Base, ended, served, until
from tests.stages.panel import panel


@pytest.mark.slow
async def test_an_incident_without_a_report_has_a_page_too_since_messages_and_pages_lead_there(base: Base) -> None:
    base.cli("begin()\nsys.exit(3)")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        await until(lambda: bool(base.incidents()))
        incident = base.incidents()[-1]
        assert not incident.get("report")
        found = await person.get(f"/incidents/{incident['id']}")
        assert found.status_code == 200
        assert incident["summary"][:40] in found.text
        assert f'href="/incidents/{incident["id"]}"' in (await person.get("/agents/a1")).text
        assert (await person.get("/incidents/a1-1-nothing")).status_code == 404
