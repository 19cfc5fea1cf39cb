"""Hosts that agents may reach."""

import pytest

from supervisor.runtime.gateway.hosts import HostError, Hosts, parsed


def fits(hosts: Hosts, host: str, port: int) -> bool:
    try:
        hosts.check(host, port)
    except HostError:
        return False
    return True


def test_a_host_is_its_name_and_port_and_a_star_is_all_below() -> None:
    hosts = Hosts(("PyPI.org", "files.example:8443", "*.npmjs.org", "[::1]:80", "10.0.0.1"))
    allowed = [
        ("pypi.org", 443),
        ("pypi.org.", 443),
        ("PYPI.ORG", 443),
        ("files.example", 8443),
        ("a.b.npmjs.org", 443),
    ]
    assert all(fits(hosts, *each) for each in [*allowed, ("::1", 80), ("10.0.0.1", 443)])
    refused = [("pypi.org", 80), ("xpypi.org", 443), ("npmjs.org", 443), ("evilnpmjs.org", 443), ("pypi.org.evil", 443)]
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
