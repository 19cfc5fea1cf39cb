"""Facts that agents noted for others, which agents that start later are told."""

from collections.abc import Sequence

import htpy as h

from supervisor.cli.output.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, agent_link, ask, empty, moment, path

MOST = 500
"""Facts that are shown, the latest."""


def discoveries_page(frame: PageFrame, found: Sequence[Data]) -> h.Element:
    """The list, the latest first."""
    return page(
        frame,
        "Noted",
        h.h1["What agents noted for others"],
        h.ul(class_="options")[(_one(each) for each in list(reversed(found))[:MOST])]
        if found
        else empty("No agent has noted a fact for others."),
        here="Tasks",
    )


def _one(each: Data) -> h.Element:
    scope = str(each["scope"])
    place = "everywhere" if scope == "all" else clean(each["project"] if scope == "repository" else each["task"], 200)
    target = path("discoveries", str(each["id"]), "forget")
    text = clean(each["text"], 2_000)
    return h.li[
        h.p[text],
        h.p(class_="muted")[agent_link(str(each["agent"])), f", for {place}, ", moment(each["at"], "%Y-%m-%d %H:%M")],
        h.div(class_="buttons")[ask("Forget…", "confirm", target, kind="bad", title="Forget", question=text)],
    ]
