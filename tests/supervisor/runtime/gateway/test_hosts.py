"""Hosts that agents may reach."""

import pytest
from pydantic import ValidationError

from supervisor.config.sections.sandbox import SandboxSection
from supervisor.runtime.gateway.hosts import HostError, Hosts, _is_public, parsed


def fits(hosts: Hosts, host: str, port: int) -> bool:
    try:
        hosts.check(host, port)
    except HostError:
        return False
    return True


def test_a_host_is_its_name_and_port_and_a_star_is_all_below() -> None:
    hosts = Hosts(("Packages.example", "files.example:8443", "*.registry.example", "[::1]:80", "10.0.0.1"))
    allowed = [
        ("packages.example", 443),
        ("packages.example.", 443),
        ("PACKAGES.EXAMPLE", 443),
        ("files.example", 8443),
        ("a.b.registry.example", 443),
    ]
    assert all(fits(hosts, *each) for each in [*allowed, ("::1", 80), ("10.0.0.1", 443)])
    refused = [
        ("packages.example", 80),
        ("xpackages.example", 443),
        ("registry.example", 443),
        ("evilregistry.example", 443),
        ("packages.example.evil", 443),
    ]
    assert not any(fits(hosts, *each) for each in refused)


@pytest.mark.parametrize("text", ["", "*", "*.*", "a/b", "host:", "host:0", "host:70000", "host:http", "a*b"])
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no host"):
        parsed(text)


async def test_a_name_does_not_open_private_addresses_and_an_address_that_is_named_is_open() -> None:
    with pytest.raises(HostError, match="leads to addresses of this machine"):
        await Hosts(("localhost:80",)).addresses("localhost", 80)
    assert await Hosts(("127.0.0.1:80",)).addresses("127.0.0.1", 80) == ["127.0.0.1"]
    with pytest.raises(HostError, match="has no address"):
        await Hosts(("no.invalid",)).addresses("no.invalid", 443)


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "0.0.0.0", "::1", "fe80::1", "fd00::1",
        "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "2002:a00:1::", "2002:7f00:1::1",
        "ff02::1",
    ],
)  # fmt: skip
def test_an_address_that_is_private_or_stands_for_a_private_one_is_not_public(address: str) -> None:
    assert not _is_public(address)


@pytest.mark.parametrize("address", ["151.101.0.223", "2a04:4e42::223", "64:ff9b::9765:df"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert _is_public(address)


@pytest.mark.parametrize("spelled", ["127.1", "2130706433", "0x7f000001", "017700000001"])
async def test_another_spelling_of_the_loopback_opens_it_no_more_than_a_name(spelled: str) -> None:
    with pytest.raises(HostError):
        await Hosts((f"{spelled}:80",)).addresses(spelled, 80)


def test_the_configuration_takes_what_the_gateway_understands_and_nothing_else() -> None:
    taken = ("packages.example", "*.registry.example", "a.example:8443", "[::1]:80", "10.0.0.1")
    assert SandboxSection(hosts=taken).hosts == taken
    assert [parsed(one).port for one in taken] == [443, 443, 8443, 80, 443]
    for text in ("", "*", "*.*", "a/b", "host:", "host:0", "host:70000", "host:http", "a*b", "user@host", "http://a"):
        with pytest.raises(ValidationError, match="is no host"):
            SandboxSection(hosts=(text,))
