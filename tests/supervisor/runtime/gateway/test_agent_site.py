"""One agent at the gateway, and what it does about a credential that is refused."""

from pathlib import Path

import anyio
import pytest

from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway import agent_site
from supervisor.runtime.gateway.agent_site import AgentSite
from supervisor.runtime.gateway.credential import Credential
from supervisor.runtime.gateway.hosts import Hosts
from supervisor.runtime.gateway.messages import CredentialSource, GatewaySettings


def credential(value: str) -> Credential:
    return Credential(CredentialSource("value", value=value), Clock())


def site(held: Credential, told: list[str], *, others: bool = True) -> AgentSite:
    settings = GatewaySettings("http://model.invalid", CredentialSource("none"), others=others)
    return AgentSite("a1", settings, held, Hosts(()), failed=lambda error: told.append(str(error)))


async def test_another_credential_is_waited_for_and_used() -> None:
    told: list[str] = []
    one = site(credential("sk-one"), told)
    async with anyio.create_task_group() as tasks:

        async def renew() -> None:
            one.renew(one.settings, credential("sk-two"), one.hosts)

        tasks.start_soon(renew)
        assert await one.another_header(("x-api-key", "sk-one")) == ("x-api-key", "sk-two")
    assert len(told) == 1


async def test_without_others_nothing_is_waited_for() -> None:
    told: list[str] = []
    with pytest.raises(ChaperonError, match="refused the credential"):
        await site(credential("sk-one"), told, others=False).another_header(("x-api-key", "sk-one"))
    assert len(told) == 1


async def test_one_that_never_comes_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_site, "ANOTHER_SECONDS", 0.01)
    with pytest.raises(ChaperonError, match="refused the credential"):
        await site(credential("sk-one"), []).another_header(("x-api-key", "sk-one"))


async def test_one_that_was_replaced_in_its_place_is_used_at_once_and_nobody_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_text("sk-one")
    one = site(Credential(CredentialSource("file", path=str(path)), Clock()), told)
    assert await one.header() == ("x-api-key", "sk-one")
    path.write_text("sk-other")
    assert await one.another_header(("x-api-key", "sk-one")) == ("x-api-key", "sk-other")
    assert told == []


async def test_one_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(ChaperonError):
        await site(Credential(CredentialSource("file", path=str(tmp_path / "key")), Clock()), told).header()
    assert "cannot be read" in told[0]
