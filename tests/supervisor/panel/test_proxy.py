"""The panel behind nginx with a login, by the configuration that the manual gives."""

import re
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from tests.stages.daemon import PATIENCE_SECONDS, Base, served, until
from tests.stages.panel import PanelProcess, panel, token_of
from tests.stages.ports import kept_port

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "panel.md"

NAME = "agents.example"

LOGIN = ("ada", "correct horse")

AROUND = """\
pid {base}/nginx.pid;
error_log {base}/nginx.log;
events {{}}
http {{
access_log off;
client_body_temp_path {base}/body;
proxy_temp_path {base}/proxy;
fastcgi_temp_path {base}/fastcgi;
uwsgi_temp_path {base}/uwsgi;
scgi_temp_path {base}/scgi;
{server}
}}
"""


def nginx() -> str:
    """The distribution's nginx."""
    path = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if path is None:
        pytest.skip("no nginx is installed here (apt-get install nginx-light)")
    return path


@pytest.fixture
def port() -> Iterator[int]:
    with kept_port() as kept:
        yield kept


def configured(base: Path, upstream: int, port: int) -> str:
    """The manual's configuration with the paths and ports of a test."""
    (server,) = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for theirs, ours in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/agents.example.pem", f"{base}/own.pem"),
        ("/etc/ssl/agents.example.key", f"{base}/own.key"),
        ("/etc/nginx/agents.htpasswd", f"{base}/htpasswd"),
        ("127.0.0.1:8765", f"127.0.0.1:{upstream}"),
    ):
        assert server.count(theirs) == 1, theirs
        server = server.replace(theirs, ours)
    return AROUND.format(base=base, server=server)


@asynccontextmanager
async def proxied(base: Path, shown: PanelProcess, port: int) -> AsyncIterator[httpx.AsyncClient]:
    """A browser of plain HTTP that asks nginx for the panel; it has given no password."""
    program = nginx()
    (base / "htpasswd").write_text(f"{LOGIN[0]}:{{PLAIN}}{LOGIN[1]}\n")
    (base / "nginx.conf").write_text(configured(base, shown.port, port))
    about = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-days", "2"]
    keys = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made = ["-keyout", str(base / "own.key"), "-out", str(base / "own.pem")]
    await anyio.run_process(["openssl", "req", "-x509", *keys, *about, *made])
    command = [program, "-p", str(base), "-c", str(base / "nginx.conf"), "-g", "daemon off; master_process off;"]
    with (base / "nginx.err").open("w") as errors:
        async with await anyio.open_process(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        ) as process:
            try:
                trusted = ssl.create_default_context(cafile=str(base / "own.pem"))
                trusted.check_hostname = False  # it is asked for by its address, and trusted for its certificate alone
                async with httpx.AsyncClient(
                    base_url=f"https://127.0.0.1:{port}",
                    verify=trusted,
                    headers={"host": NAME},
                    timeout=PATIENCE_SECONDS,
                ) as client:
                    with anyio.fail_after(PATIENCE_SECONDS):
                        while not await answers(client):
                            assert process.returncode is None, (base / "nginx.err").read_text()
                            await anyio.sleep(0.02)
                    yield client
            finally:
                process.terminate()
                with anyio.CancelScope(shield=True):
                    await process.wait()


async def answers(client: httpx.AsyncClient) -> bool:
    """Whether the proxy listens already."""
    try:
        await client.get("/")
    except httpx.ConnectError:
        return False
    return True


async def test_behind_a_proxy_with_login_a_person_signs_in_twice_sees_what_happens_and_acts(
    base: Base, port: int
) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    folder = base.root / "nginx"
    folder.mkdir(mode=0o755)
    async with (
        served(base) as (daemon, _),
        panel(base, "--name", f"{NAME}:443") as shown,
        proxied(folder, shown, port) as person,
    ):
        assert (await person.get("/")).headers["www-authenticate"].startswith("Basic")
        person.auth = httpx.BasicAuth(*LOGIN)
        stranger = await person.get("/", headers={"accept": "text/html"})
        assert (stranger.status_code, "Sign in" in stranger.text) == (401, True)
        origin = {"origin": f"https://{NAME}"}
        signed = await person.post("/sign-in", data={"code": shown.code}, headers=origin)
        assert signed.status_code == 303, signed.text
        assert {"Secure", "HttpOnly"} <= {part.strip() for part in signed.headers["set-cookie"].split(";")}
        cookie = {"cookie": signed.headers["set-cookie"].partition(";")[0]}
        page = await person.get("/", headers=cookie)
        assert page.status_code == 200
        acts = {**cookie, **origin, "x-chaperon-token": token_of(page.text)}
        async with person.stream("GET", "/live/board", headers=cookie) as answer:
            with anyio.fail_after(PATIENCE_SECONDS):  # a proxy that buffered would hold these few bytes back
                lines = answer.aiter_lines()
                while "No agent runs" not in await anext(lines):
                    pass
                await daemon.submit(base.submission(prompt="Look around"), by="test")
                while "Look around" not in await anext(lines):
                    pass
        await until(lambda: daemon.board.summary("a1").state == "running")
        paused = await person.post("/agents/a1/pause", json={}, headers=acts)
        assert paused.status_code == 200, paused.text
        await until(lambda: daemon.board.summary("a1").pause is not None)
        foreign = {**acts, "origin": "https://evil.example"}
        assert (await person.post("/agents/a1/stop", json={}, headers=foreign)).status_code == 403


async def test_a_panel_that_was_not_told_the_proxys_name_answers_nobody_by_it(base: Base, port: int) -> None:
    folder = base.root / "nginx"
    folder.mkdir(mode=0o755)
    async with panel(base) as shown, proxied(folder, shown, port) as person:
        person.auth = httpx.BasicAuth(*LOGIN)
        assert (await person.get("/")).status_code == 421
