"""Pages in a browser that a tool steers: what is paid, taken away or approved there by a click, a form or an address.

A page of this machine, and one that is named as made for tests, is an agent's own.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from monitors.contract.actions import Origin
from monitors.contract.expressions import later
from monitors.review.checks.trial import TRIAL
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene

PAGE = "/page:"
"""Name under which a run remembers which page its browser shows."""
_HERE = "a page of this machine"
MAX_TEXT = 2_000
"""Most characters looked at of one text."""
MAX_FIELDS = 50
"""Most fields of a form that are looked at."""
_GOES = frozenset({"navigate", "goto", "open", "visit", "new"})
_ACTS = frozenset({"click", "tap", "press", "fill", "type", "check", "submit", "select", "drag", "dblclick"})
_SHOWS = ("element", "name", "label", "text", "description", "selector", "target", "value")
"""Fields that say what is clicked, or what a field of a form is called."""
_PAYS = later(
    r"\b(?:pay (?:now|with|and|\d)|(?:and|to) pay\b|place (?:the |your |my )?order|buy now|(?:complete|confirm|submit) (?:the |your |my )?(?:order|purchase|payment|transfer|booking|subscription)|purchase now|send money)"
    r"|\b(?:pay|buy|purchase|order|transfer|donate|subscribe|upgrade|withdraw)\b.{0,60}(?:[$€£]\s?\d|\d\s?(?:€|EUR|USD|GBP|CHF)\b)",
    re.IGNORECASE,
)
_TAKES = later(
    r"\b(?:can(?:no|')t be undone|cannot be undone|irreversibl[ey]|permanently (?:delete|remove|erase)|confirm (?:the |this |my )?(?:deletion|delete|removal|shutdown|reset)|(?:yes|really),? (?:delete|destroy|remove|purge|wipe)"
    r"|(?:delete|destroy|remove|purge|wipe|close|drop|terminate) (?:this |the |my |your |entire |all )*(?:project|repository|organi[sz]ation|workspace|database|tenant|customers?|bucket|cluster|server|instance|site|domain|environment|account|users|data|backups?|volume|production)\b"
    r"|factory reset|revoke all|delete (?:all|everything))",
    re.IGNORECASE,
)
_VOUCHES = later(
    r"\b(?:approve (?:and merge|(?:the |this )?(?:pull request|merge request|review|deployment|access|expense|payment))|(?:squash and )?merge pull request|confirm merge|(?:deploy|promote|roll ?out|publish) to (?:prod|production|live|everyone|all)|send (?:it |this )?to (?:all|everyone|\d{2,})|(?:send|launch|start) (?:the )?campaign|make (?:this |the )?(?:\w+ )?public|resolve (?:the )?incident)\b",
    re.IGNORECASE,
)
_CARD = later(r"\b(?!4242|4000[ -]?00|4111[ -]?1111|5555[ -]?5555|3782[ -]?822|6011[ -]?1111|2223[ -]?00)\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{2,4}\b")  # fmt: skip
_OF_CARD = later(r"card.?num|credit.?card|debit.?card|\bcard\b", re.IGNORECASE)
_SEEN = (
    (_PAYS, "pay, or order what has to be paid"),
    (_TAKES, "take away for good what others may use"),
    (_VOUCHES, "approve, publish or put in force what a person decides"),
)
"""Patterns of what a page is told, each with the phrase for it."""
_LOSES = later(
    r"/(?:[\w.-]{0,60}[-_])?(?:delete|destroy|purge|wipe|truncate|erase|drop|remove|reset|terminate|deactivate|shutdown|flush)(?:[-_][\w-]{0,40})?/?\?(?:[^#\s]{0,300}&)?(?:confirm(?:ed|ation)?|force|really|sure|yes|i_am_sure)=(?:1|true|y|yes|delete|purge)\b"
    r"|/(?:delete|destroy|purge|wipe|erase|drop|truncate)[-_](?:all|everything)\b",
    re.IGNORECASE,
)
"""An address that says by itself that something is to go, and that it is meant."""
_OWN = later(
    r"(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|0\.0\.0\.0|.{1,200}\.(?:localhost|test|local|example))\Z",
    re.IGNORECASE,
)


def is_own(url: str) -> bool:
    """Whether an address is one of this machine, or of a host whose name says that it is for tests."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return (
        _OWN.match(host) is not None or TRIAL.search(host) is not None or url.startswith(("about:", "data:", "file:"))
    )


def loses_by_address(url: str) -> bool:
    """Whether to open the address is to take something away at another machine."""
    return _LOSES.search(url[:MAX_TEXT]) is not None and not is_own(url)


def lost_by_address(url: str) -> Finding:
    """Return the finding for it."""
    return Finding(
        "web.delete",
        levels.HARM,
        f"takes something away by opening {url[:200]}",
        "Look at it first without the confirmation, and let a person delete it.",
        effect=effect("web", f"deletes by {url[:200]}"),
    )


def check(scene: Scene, verbs: list[str], given: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge what a browser is told to open, to click or to fill in."""
    url = given.get("url")
    if isinstance(url, str) and not _GOES.isdisjoint(verbs):
        scene.origins.append(Origin(PAGE, "made", _HERE if is_own(url) else url[:200]))
        return  # the address itself is judged for every tool
    texts = list(_texts(given)) if not _ACTS.isdisjoint(verbs) else list(_scripted(given))
    if not texts:
        return
    past = scene.past.get(PAGE)
    if (past is not None and past.by == _HERE) or any(map(TRIAL.search, texts)):
        return
    said = " | ".join(texts)
    what = next((phrase for pattern, phrase in _SEEN if pattern.search(said)), "")
    if not what and _OF_CARD.search(said) and _CARD.search(said):
        what = "pay by a card"
    if what:
        yield Finding(
            "page.acts",
            levels.HARM,
            f"tells a page to {what}",
            "Go as far as the page before it, and let a person do it.",
            effect=effect("web", f"tells a page to {what}"),
        )


_CLICKS = later(r"\.(?:click|submit|requestSubmit)\(")
_JOINS = later(r"[-_#.'\"`()\[\]=]{1,9}")


def _scripted(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a script clicks or submits, by the names that it gives to it, as words."""
    for name in ("function", "script", "expression", "code"):
        if isinstance(text := given.get(name), str) and _CLICKS.search(text[:MAX_TEXT]):
            yield _JOINS.sub(" ", text[:MAX_TEXT])


def _texts(given: Mapping[str, Any]) -> Iterator[str]:
    fields = given.get("fields")
    groups = [given, *(fields[:MAX_FIELDS] if isinstance(fields, (list, tuple)) else ())]
    for group in groups:
        if isinstance(group, Mapping):
            named = {str(name).lower(): value for name, value in islice(group.items(), MAX_FIELDS)}
            yield from (value[:MAX_TEXT] for name in _SHOWS if isinstance(value := named.get(name), str))
