"""Whatever is sent to any route, the answer is JSON that every client reads, and no failure of the daemon."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio.to_thread
import httpx
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interventions.decisions import Incident
from monitors.contract.words import Severity
from supervisor.protocol import events, records
from tests.stages.daemon import Base, ended, lines, served
from tests.support import acting

BAD = "bad\udcff \x1b[2J \u202e\x00\u2028"
"""Text with all that a reader may stumble over."""

TEXT = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(["", ".", "..", "/", BAD, "a1"])

JSON = {"content-type": "application/json"}


def parts(description: dict[str, Any]) -> list[tuple[str, str]]:
    """Every route as method and path, but for streams, which have tests of their own."""
    routes = [(method, path) for path, methods in description["paths"].items() for method in methods]
    return [(method, path) for method, path in routes if not path.endswith(("/events", "/incidents", "/metrics"))]


def body_of(description: dict[str, Any], method: str, path: str) -> list[str]:
    """The fields of a route's body."""
    content = description["paths"][path][method].get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    for one in [schema, *schema.get("anyOf", [])]:
        if "$ref" in one:
            return list(description["components"]["schemas"][one["$ref"].rpartition("/")[2]]["properties"])
    return []


@pytest.mark.slow
async def test_no_text_in_any_field_path_or_query_of_any_route_makes_the_daemon_fail(base: Base) -> None:
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json={"prompt": "go", "repository": str(base.repo)})
        await ended(daemon)
        description = (await client.get("/openapi.json")).json()
        await anyio.to_thread.run_sync(hammer, base.places.socket, description)


def hammer(socket: Path, description: dict[str, Any]) -> None:
    """Send text to every route."""

    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(parts(description)), st.data())
    def ask(route: tuple[str, str], data: st.DataObject) -> None:
        method, path = route
        where = path
        while "{" in where:
            name = where[where.index("{") : where.index("}") + 1]
            part = data.draw(TEXT.map(lambda text: text.encode(errors="surrogatepass")) | st.just(b"a1"))
            where = where.replace(name, quote(part, safe=""), 1)
        fields = body_of(description, method, path)
        body = {name: data.draw(TEXT | st.just({BAD: BAD}) | st.just([BAD])) for name in fields}
        sent = data.draw(st.just(json.dumps(body).encode()) | st.binary(max_size=20))
        query = "?" + quote(data.draw(TEXT).encode(errors="surrogatepass"), safe="=&") if not fields else ""
        with httpx.Client(
            transport=httpx.HTTPTransport(uds=str(socket), verify=False),
            base_url="http://chaperon",
            timeout=60,  # the first one of a file waits for the reading process to start
        ) as client:
            answer = client.request(method.upper(), where + query, content=sent, headers=JSON)
        assert answer.status_code < 500, (method, path, answer.text)
        found = list(map(orjson.loads, answer.content.splitlines()))  # a path with dots may lead to a stream
        assert found or path.endswith("}")
        assert acting(answer.text) <= {"\n"}

    ask()


@pytest.mark.parametrize("body", [rb'{"tool":"Bash","input":{"command":"\udcff"}}', b'{"tool":"Bash"', b"\xff", b"NaN"])
async def test_a_body_that_is_no_json_in_utf_8_is_a_bad_request_and_told_in_json(base: Base, body: bytes) -> None:
    async with served(base) as (_, client):
        answer = await client.post("/v1/review", content=body, headers=JSON)
        assert answer.status_code == 400
        assert "The body is no JSON in UTF-8" in orjson.loads(answer.content)["what"]
        assert (await client.post("/v1/agents", content=body, headers=JSON)).status_code == 400
    assert "task_submitted" not in base.kinds()


async def test_what_is_known_of_an_agent_is_told_whatever_text_is_in_it(base: Base) -> None:
    async with served(base) as (daemon, client):
        await client.post("/v1/agents", json={"prompt": BAD.replace("\udcff", ""), "repository": str(base.repo)})
        await ended(daemon)
        daemon.board.summary("a1").why = BAD
        for path in ("/v1/agents", "/v1/agents/a1"):
            answer = await client.get(path)
            assert answer.status_code == 200
            assert orjson.loads(answer.content.strip(b"[]"))["why"].startswith("bad\ufffd\\xff \x1b[2J")
            assert acting(answer.text) == set()


async def test_lines_of_an_older_version_that_few_can_read_are_streamed_so_that_all_can(base: Base) -> None:
    bad = {"kind": "changes_seen", "agent": "a0", "at": 1.0, "mono": 1.0, "tool_use_id": "t", "paths": ["bad\udcff"]}
    header, hash_ = records.encode_header(1, records.ORIGIN)
    line, _ = records.frame(1, json.dumps(bad).encode(), hash_)
    base.places.journal.mkdir(parents=True)
    (base.places.journal / f"{1:020d}.jsonl").write_bytes(header + line)
    incident = Incident("i-1", 1.0, "a0", "odd", Severity.LOW, "bad\udcff")
    old = {name: getattr(incident, name) for name in Incident.__slots__}
    base.places.incident_log.write_bytes(json.dumps(old).encode() + b"\n")
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(name="a0"), by="test")
        await ended(daemon, "a0")
        daemon.fault("a0", "another", "Something else.")
        for query in ({}, {"agent": "a0"}):
            found = await lines(client, "/v1/events", **query)
            assert [one["paths"] for one in found if one["kind"] == "changes_seen"] == [["bad\ufffd\\xff"]]
            assert found[-1]["kind"] == "fault_seen"
        assert next(one["summary"] for one in await lines(client, "/v1/incidents")) == "bad\ufffd\\xff"
    assert isinstance(base.records()[0].event, events.ChangesSeen)
