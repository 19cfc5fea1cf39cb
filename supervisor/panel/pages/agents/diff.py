"""The content of what an agent changed, file by file."""

import htpy as h

from monitors.contract.wording import counted
from supervisor.cli.output.agent_words import CHANGED
from supervisor.cli.output.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, agent_link, bounded, empty, path

OPEN_LINES = 200
"""Lines of a patch up to which it is unfolded."""

KINDS = {"+": "added", "-": "deleted", "@": "hunk"}
"""The class of a line of a patch, by its first character."""


def diff_page(frame: PageFrame, found: Data) -> h.Element:
    """The page."""
    name = str(found["agent"])
    until = f"to {found['until']}" if found["until"] else "until now"
    return page(
        frame,
        f"Changes of {clean(name, 60)}",
        h.h1["Changes of ", agent_link(name)],
        h.p(class_="muted")[
            f"From checkpoint {clean(found['since'], 100)} {clean(until, 100)}: "
            f"{counted(len(found['files']) + found['more'], 'file')}, {counted(found['added'], 'line')} added, {found['removed']:,} removed."
        ],
        [_file(one) for one in found["files"]] or empty("No file differs."),
        h.p(class_="muted")[f"… and {counted(found['more'], 'more file')}: chaperon diff {path(name)[1:]}"]
        if found["more"]
        else None,
        here="Board",
    )


def _file(one: Data) -> h.Element:
    patch = bounded(str(one["patch"]))
    lines = patch.removesuffix("\n").split("\n") if patch else []
    said = one["left_out"] or ("a binary file" if one["binary"] else "")
    return h.details(class_="card", open=len(lines) <= OPEN_LINES)[
        h.summary[
            h.code[clean(one["path"], 300)],
            f" {CHANGED.get(str(one['change']), one['change'])}",
            h.span(class_="c-green")[f" +{one['added']:,}"],
            h.span(class_="c-red")[f" -{one['removed']:,}"],
        ],
        h.p(class_="muted")[clean(said, 300)] if said else None,
        h.pre(class_="patch", tabindex="0")[(h.span(class_=KINDS.get(line[:1]))[line + "\n"] for line in lines)]
        if lines
        else None,
    ]
