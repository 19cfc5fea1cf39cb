"""What a request must show at the panel's door, over plain HTTP with the panel as a process."""

import re

import anyio
import pytest

from supervisor.panel.access.door import HEADERS, Address, _target
from tests.stages.daemon import Base, served, until
from tests.stages.panel import panel, token_of

pytestmark = pytest.mark.slow

HTML = {"accept": "text/html"}


def test_a_proxys_name_is_one_of_ours_and_only_whole() -> None:
    place = Address(8765, ("agents.example:443",))
    assert {"127.0.0.1:8765", "localhost:8765", "agents.example", "agents.example:443"} == place.hosts
    assert "https://agents.example" in place.origins
    assert "http://agents.example" not in place.origins


def test_a_path_that_names_another_host_leads_to_us() -> None:
    assert _target("//evil.example/x") == "/x"
    assert _target("/\\evil.example") == "/evil.example"
    assert _target("/agents/a1") == "/agents/a1"


async def test_whoever_does_not_belong_here_is_refused_before_any_page_sees_it(base: Base) -> None:
    async with served(base), panel(base) as shown, shown.person() as person, shown.visitor() as stranger:
        assert (await person.get("/")).status_code == 200
        # Rebound names, and names that only begin like ours.
        for host in (
            "evil.example",
            f"127.0.0.1.evil.example:{shown.port}",
            "127.0.0.1",
            f"localhost:{shown.port + 1}",
        ):
            assert (await person.get("/", headers={"host": host})).status_code == 421
        # Pages of other sites, and of other ports of this host.
        for site in ("cross-site", "same-site"):
            assert (await person.get("/live/board", headers={"sec-fetch-site": site})).status_code == 403
            elsewhere = await person.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"})
            assert elsewhere.status_code == 403
            assert "another site" in elsewhere.text
        for origin in (
            "http://evil.example",
            "null",
            f"http://127.0.0.1:{shown.port + 1}",
            f"http://127.0.0.1:{shown.port}.evil.example",
        ):
            assert (await person.post("/agents/a1/stop", headers={"origin": origin})).status_code == 403
            assert (await person.post("/sign-in", headers={"origin": origin}, data={"code": "x"})).status_code == 403
        del person.headers["origin"]
        assert (await person.post("/agents/a1/stop")).status_code == 403
        # Without a session, or with a wrong one.
        assert (await stranger.get("/", headers=HTML)).status_code == 401
        assert "Sign in" in (await stranger.get("/", headers=HTML)).text
        assert (await stranger.get("/live/board")).status_code == 401
        wrong = {"cookie": f"chaperon-{shown.port}=nonsense; a=\x7f"}
        assert (await stranger.get("/", headers={**HTML, **wrong})).status_code == 401
        assert (await stranger.post("/agents/a1/stop", headers={"origin": shown.url})).status_code == 401


async def test_a_link_is_good_once_and_its_cookie_is_kept_from_scripts_and_other_sites(base: Base) -> None:
    async with served(base), panel(base) as shown, shown.visitor(origin=shown.url) as person:
        first = await person.post("/sign-in", data={"code": shown.code})
        assert first.status_code == 303
        cookie = first.headers["set-cookie"].lower()
        assert {"httponly", "samesite=strict", "path=/"} <= set(cookie.split("; "))
        assert cookie.startswith(f"chaperon-{shown.port}=")
        async with shown.visitor(origin=shown.url) as thief:
            second = await thief.post("/sign-in", data={"code": shown.code})
            assert second.status_code == 401
            assert "used already" in second.text
            assert (await thief.get("/", headers=HTML)).status_code == 401


async def test_an_action_needs_the_sessions_token(base: Base) -> None:
    base.cli("greet()\nhear()")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        good = person.headers.pop("x-chaperon-token")
        for token in ("", "wrong", good[:-1]):
            refused = await person.post("/agents/a1/stop", json={"force": True}, headers={"x-chaperon-token": token})
            assert refused.status_code == 403
        assert not daemon.board.summary("a1").state.ended
        done = await person.post("/agents/a1/stop", json={"force": True}, headers={"x-chaperon-token": good})
        assert done.status_code == 200, done.text
        await until(lambda: daemon.board.summary("a1").state.ended)


async def test_read_only_shows_everything_and_does_nothing(base: Base) -> None:
    base.cli("greet()\nhear()")
    async with served(base) as (daemon, _), panel(base, "--read-only") as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        assert "read only" in (await person.get("/agents/a1")).text
        refused = await person.post("/agents/a1/stop", json={})
        assert (refused.status_code, "--read-only" in refused.json()["what"]) == (403, True)
        assert not daemon.board.summary("a1").state.ended


async def test_every_answer_has_the_headers_and_no_page_has_an_inline_script_or_style(base: Base) -> None:
    async with served(base), panel(base) as shown, shown.person() as person:
        for path in ("/", "/agents/none", "/nowhere", "/static/panel.js"):
            answer = await person.get(path)
            assert {name: answer.headers[name] for name in HEADERS} == dict(HEADERS), path
            assert "server" not in answer.headers
        html = (await person.get("/")).text
        assert token_of(html)
        assert re.findall(r"<script(?![^>]* src=)|\son\w+=|\sstyle=|javascript:", html) == []


async def test_an_agents_process_reaches_nothing_even_with_the_link(base: Base) -> None:
    """The stand-in for the CLI opens the panel's port, as an agent's program would, and is dropped."""
    async with served(base) as (daemon, _), panel(base) as shown:
        base.cli(
            "prompt = greet()\nimport socket\n"
            f"s = socket.create_connection(('127.0.0.1', {shown.port}))\n"
            f"asked = b'GET /static/panel.css HTTP/1.1\\r\\nHost: 127.0.0.1:{shown.port}\\r\\n\\r\\n'\n"
            "try:\n    s.sendall(asked)\n    got = s.recv(100)\nexcept OSError:\n    got = b''\n"
            "open('got', 'wb').write(b'[' + got + b']')\ndone()\nhear()\n"
        )
        await daemon.submit(base.submission(), by="test")
        await until(lambda: (base.repo / "got").is_file() and (base.repo / "got").read_bytes() != b"")
        assert await anyio.Path(base.repo / "got").read_bytes() == b"[]"
        await until(lambda: "an agent's own process may not steer agents" in shown.refused.read_text())
