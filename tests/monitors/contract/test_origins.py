"""What the calls of a run have brought, as a fold over their reviews."""

from dataclasses import replace

from monitors.contract.actions import Origin, Review
from monitors.contract.origins import MAX_KNOWN, Origins
from monitors.contract.words import Decision, Severity

REVIEW = Review(Decision.ALLOW, 0.1, 1.0, Severity.LOW, "")


def brought(*paths: str) -> Review:
    return replace(REVIEW, origins=tuple(Origin(path, "downloaded", "curl") for path in paths))


def test_a_call_that_was_blocked_leaves_nothing() -> None:
    origins = Origins()
    origins.remember(replace(brought("/w/a"), decision=Decision.BLOCK))
    assert not origins.known


def test_what_is_taken_away_or_written_anew_does_not_count_any_more_with_all_below_it() -> None:
    origins = Origins()
    origins.remember(brought("/w/d/a", "/w/d/b", "/w/dd"))
    origins.remember(replace(REVIEW, origins=(Origin("/w/d", "own", ""),)))
    assert list(origins.known) == ["/w/dd"]


def test_past_its_bound_the_directory_with_most_files_stands_for_them() -> None:
    origins = Origins()
    origins.remember(brought("/old/a", "/old/b", "/old/c"))
    for number in range(MAX_KNOWN):
        origins.remember(brought(f"/new/{number}"))
    assert list(origins.known) == ["/old/a", "/old/b", "/old/c", "/new/"]
    for number in range(3 * MAX_KNOWN):
        origins.remember(brought(f"/new{number}/x"))
        assert len(origins.known) <= MAX_KNOWN


def test_a_context_keeps_what_was_known_when_it_was_made() -> None:
    origins = Origins()
    origins.remember(brought("/w/a"))
    before = origins.known
    origins.remember(brought("/w/b"))
    assert list(before) == ["/w/a"]


def test_a_file_within_a_directory_that_was_brought_can_be_the_agents_own() -> None:
    origins = Origins()
    origins.remember(brought("/w/out/"))
    origins.remember(replace(REVIEW, origins=(Origin("/w/out/a", "own", ""),)))
    origins.remember(brought("/w/out/b"))
    assert {path: one.how for path, one in origins.known.items()} == {"/w/out/": "downloaded", "/w/out/a": "own"}
    origins.remember(replace(REVIEW, origins=(Origin("/w/out", "own", ""),)))
    assert not origins.known


def test_a_failed_call_has_not_made_what_it_was_to_make_last() -> None:
    origins = Origins()
    review = replace(REVIEW, origins=(Origin("/made:/a", "made", "createdb a"), Origin("/made:/b", "made", "")))
    origins.remember(review)
    origins.failed(review)
    assert list(origins.known) == ["/made:/b"]
