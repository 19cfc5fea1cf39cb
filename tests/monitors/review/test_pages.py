"""Pages in a browser that a tool steers: what is paid, taken away or approved there, and whose page it is."""

from collections.abc import Mapping
from typing import Any

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.origins import Origins
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from monitors.review.checks.pages import is_own

WORK = "/home/ann/work"


def in_turn(*calls: tuple[str, Mapping[str, Any]]) -> Review:
    """Review calls of one run one after the other, and return the last review."""
    origins, reviewer = Origins(), make_reviewer()
    for tool, given in calls:
        context = ReviewContext(home="/home/ann", origins=origins.known)
        made = reviewer.review(Action(f"mcp__playwright__browser_{tool}", given, WORK, WORK), context)
        origins.remember(made)
    return made


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("click", {"element": "Button 'Place order and pay 1,249.00 EUR'"}),
        ("click", {"element": "Buy now"}),
        ("click", {"element": "Yes, delete"}),
        ("click", {"element": "Approve and merge"}),
        ("evaluate", {"function": "() => document.querySelector('#confirm-purchase').click()"}),
        ("click", {"element": "Make this repository public"}),
        ("fill_form", {"fields": [{"name": "Type the name to confirm deletion", "value": "acme"}]}),
        ("fill_form", {"fields": [{"name": "Card number", "value": "5413 3300 8902 0011"}]}),
        ("navigate", {"url": "https://admin.acme.io/tenants/42/purge?confirm=yes"}),
        ("navigate", {"url": "https://api.acme.io/v1/users/delete-all"}),
    ],
)
def test_what_pays_takes_away_or_approves_is_left_to_a_person(tool: str, given: Mapping[str, Any]) -> None:
    assert in_turn((tool, given)).decision is Decision.BLOCK


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("click", {"element": "Delete row"}),
        ("click", {"element": "Delete cart button"}),
        ("click", {"element": "Order history"}),
        ("click", {"element": "Payment methods"}),
        ("evaluate", {"function": "() => document.querySelector('#open-menu').click()"}),
        ("evaluate", {"function": "() => document.querySelectorAll('#confirm-purchase').length"}),
        ("click", {"element": "Delete account button in the test page"}),
        ("fill_form", {"fields": [{"name": "Card number", "value": "4242 4242 4242 4242"}]}),
        ("navigate", {"url": "http://localhost:3000/tenants/42/purge?confirm=yes"}),
        ("navigate", {"url": "https://staging.test/users/delete-all"}),
        ("navigate", {"url": "https://docs.acme.io/how-to/delete-a-project"}),
    ],
)
def test_what_only_looks_or_is_for_tests_passes(tool: str, given: Mapping[str, Any]) -> None:
    assert in_turn((tool, given)).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("url", "decision"),
    [("http://localhost:5173/checkout", Decision.ALLOW), ("https://shop.acme.io/checkout", Decision.BLOCK)],
)
def test_a_page_counts_as_the_one_that_was_opened_last(url: str, decision: Decision) -> None:
    assert in_turn(("navigate", {"url": url}), ("click", {"element": "Place order"})).decision is decision


def test_an_address_is_ones_own_by_its_host_alone() -> None:
    assert is_own("http://127.0.0.1:8000/")
    assert is_own("https://app-test.acme.io/")
    assert not is_own("https://acme.io/localhost")
    assert not is_own("https://[broken")
