"""Parts that many pages have: times, badges, buttons, figures.

All text goes into HTML through htpy, which escapes markup. `rendered` spells out what acts otherwise, such as
terminal escapes and marks that turn text round, in the whole page at once, so no page can forget it.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import htpy as h

from monitors.contract import anyjson
from monitors.contract.wording import duration
from supervisor.cli.output.words import clean, local
from supervisor.protocol.plain import harmless

LONGEST_TEXT = 20_000
"""Characters of one text that a page shows; the journal has all of it."""

Data = Mapping[str, Any]


def rendered(node: h.Renderable) -> str:
    """Return the HTML of a node, with everything as an escape that acts instead of being shown."""
    return harmless(str(node))


def bounded(value: object, most: int = LONGEST_TEXT) -> str:
    """A text, shortened if it is long, which is said."""
    text = value if isinstance(value, str) else anyjson.pretty(value).decode()
    text = text.replace("\r\n", "\n")
    return text if len(text) <= most else f"{text[:most]}\n… and {len(text) - most:,} more characters"


def moment(at: Any, form: str = "%H:%M:%S") -> h.Node:
    """A time, which the browser completes with the date and keeps its age current."""
    if not isinstance(at, int | float):
        return ""
    try:
        exact = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return clean(at, 20)
    return h.time(datetime=exact, title=local(at, "%Y-%m-%d %H:%M:%S"))[local(at, form)]


def age(at: Any, *, until: bool = False) -> h.Node:
    """How long ago a time is, or how far ahead; without scripts it is the time itself."""
    if not isinstance(at, int | float):
        return ""
    return h.time(
        title=local(at, "%Y-%m-%d %H:%M:%S"),
        data_until=str(at) if until else None,
        data_since=None if until else str(at),
    )[local(at)]


def lasted(agent: Data) -> h.Node:
    """How long an agent has run, or ran."""
    if agent["ended_at"] is None:
        return age(agent["started_at"])
    return h.fragment[
        duration(max(0.0, agent["ended_at"] - agent["started_at"])), ", until ", moment(agent["ended_at"])
    ]


def badge(word: str) -> h.Element:
    """A word with a colour that says the same."""
    return h.span(class_=f"badge {_slug(word)}")[word]


def _slug(word: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in word.lower())


def agent_link(name: str) -> h.Element:
    """A link to an agent's page."""
    return h.a(href=path("agents", name))[clean(name, 60)]


def path(*parts: str) -> str:
    """A path of the panel; each part may hold any character."""
    return "/" + "/".join(quote(part, safe="", errors="replace") for part in parts)


def post(label: str, target: str, *, body: Data | None = None, kind: str = "", key: str = "") -> h.Element:
    """A button that does something at once.

    Args:
        label: Its text.
        target: The path of the action.
        body: What is sent along.
        kind: `good` or `bad`; empty for neither.
        key: The key that presses it, if its row is chosen.
    """
    return h.button(
        type="button",
        class_=kind or None,
        data_post=target,
        data_body=anyjson.dumps(body or {}).decode(),
        data_key=key or None,
    )[label]


def follow(label: str, target: str, *, key: str = "") -> h.Element:
    """A link that looks like a button, and has a key like one."""
    return h.a(class_="button", href=target, data_key=key or None)[label]


def ask(
    label: str,
    dialog: str,
    target: str,
    *,
    kind: str = "",
    key: str = "",
    title: str = "",
    body: Data | None = None,
    question: str = "",
    opened_by: str = "",
) -> h.Element:
    """A button that opens a dialog, which then posts to the target; `body` and `question` go to the dialog.

    An address that ends in `#` and `opened_by` opens it as the page is loaded.
    """
    return h.button(
        type="button",
        class_=kind or None,
        data_dialog=dialog,
        data_target=target,
        data_title=title or label,
        data_key=key or None,
        data_body=anyjson.dumps(body).decode() if body else None,
        data_question=question or None,
        data_opened_by=opened_by or None,
    )[label]


def facts(rows: Iterable[tuple[str, h.Node]]) -> h.Element:
    """A list of names and values; one without a value is left out."""
    return h.dl(class_="facts")[((h.dt[name], h.dd[value]) for name, value in rows if value not in ("", None))]


def choice(label: str, name: str, values: Iterable[str], chosen: str) -> h.Element:
    """A field of a form that chooses one of some values, or all; the choice is offered even if it is none of them."""
    offered = list(values)
    offered += [chosen] if chosen and chosen not in offered else []
    return h.label[
        f"{label} ",
        h.select(name=name)[
            h.option(value="", selected=not chosen)["all"],
            (h.option(value=one, selected=one == chosen)[clean(one, 120)] for one in offered),
        ],
    ]


def line_field(label: str, name: str, **about: str | bool) -> h.Element:
    """A field of a form for a line of text; `about` has further attributes."""
    return h.label[label, h.input(name=name, autocomplete="off", **about)]


def check_field(label: str, name: str) -> h.Element:
    """A field of a form that is ticked or not."""
    return h.label(class_="check")[h.input(type="checkbox", name=name), label]


def empty(sentence: str) -> h.Element:
    """The sentence of a list that has nothing."""
    return h.p(class_="empty")[sentence]


def block(value: object) -> h.Element:
    """A text as it is, with its line breaks."""
    return h.pre(tabindex="0")[bounded(value)]


def typed_dialog(id_: str, name: str, *content: h.Node) -> h.Element:
    """A dialog that goes back to something, once its name was typed."""
    typed = h.input(name="confirm", required=True, autocomplete="off")
    confirm = h.label["Type ", h.code[clean(name, 100)], " to confirm", typed]
    return dialog(id_, "Go back", content, confirm, kind="bad")


def dialog(name: str, label: str, *content: h.Node, leave: str = "Cancel", kind: str = "main") -> h.Element:
    """A dialog; the button that opens it says where its form goes, and `leave` is on the one that closes it."""
    return h.dialog(id=f"dialog-{name}", aria_labelledby=f"title-{name}")[
        h.form(method="dialog")[
            h.h2(id=f"title-{name}")[label],
            content,
            h.p(class_="error", role="alert", hidden=True),
            h.p(class_="progress", role="status"),
            h.div(class_="buttons")[
                h.button(type="button", data_close=True)[leave], h.button(type="submit", class_=kind)[label]
            ],
        ]
    ]
