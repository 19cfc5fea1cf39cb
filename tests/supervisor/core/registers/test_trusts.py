"""What people said of repositories' settings, as a fold over the journal."""

from supervisor.core.registers.trusts import MOST_DIGESTS, Trusts
from supervisor.protocol.events import TrustDecided


def decided(digest: str, *, granted: bool = True, repository: str = "/r") -> TrustDecided:
    return TrustDecided(agent="", at=5.0, mono=0, repository=repository, digest=digest, granted=granted, by="ann")


def test_settings_are_trusted_as_they_were_shown_and_where_they_were() -> None:
    trusts = Trusts()
    assert not trusts.trusted("/r", "d1")
    trusts.remember(1, decided("d1"))
    assert trusts.trusted("/r", "d1")
    assert not trusts.trusted("/r", "d2")
    assert not trusts.trusted("/other", "d1")
    said = trusts.said("/r", "d1")
    assert said is not None
    assert (said.by, said.at) == ("ann", 5.0)


def test_what_brings_nothing_needs_no_trust() -> None:
    assert Trusts().trusted("/r", "")


def test_a_no_is_remembered_and_so_is_a_later_yes() -> None:
    trusts = Trusts()
    trusts.remember(1, decided("d1", granted=False))
    said = trusts.said("/r", "d1")
    assert said is not None
    assert not said.granted
    assert not trusts.trusted("/r", "d1")
    trusts.remember(2, decided("d1"))
    assert trusts.trusted("/r", "d1")


def test_trust_is_taken_back_for_the_whole_repository() -> None:
    trusts = Trusts()
    for seq, digest in enumerate(("d1", "d2"), 1):
        trusts.remember(seq, decided(digest))
    trusts.remember(3, decided("d1", repository="/other"))
    trusts.remember(4, decided("", granted=False))
    assert [trusts.trusted("/r", "d1"), trusts.trusted("/r", "d2"), trusts.trusted("/other", "d1")] == [
        False,
        False,
        True,
    ]


def test_only_the_last_decisions_of_a_repository_are_kept() -> None:
    trusts = Trusts()
    for number in range(MOST_DIGESTS + 1):
        trusts.remember(number + 1, decided(f"d{number}"))
    assert not trusts.trusted("/r", "d0")
    assert trusts.trusted("/r", "d1")


def test_a_snapshot_and_the_journal_behind_it_give_the_same_however_much_is_read_again() -> None:
    events = [decided("d1"), decided("d2"), decided("", granted=False), decided("d2")]
    whole, first, second = Trusts(), Trusts(), Trusts()
    for seq, event in enumerate(events, 1):
        whole.remember(seq, event)
        if seq <= 2:
            first.remember(seq, event)
    second.restore(first.as_json())
    for seq, event in enumerate(events, 1):
        second.remember(seq, event)
    assert second.as_json() == whole.as_json()
