"""HTML files that need nothing else: they load nothing and run nothing, and every text in them is escaped.

It needs htpy, which comes with the extra [panel].
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import htpy as h

from monitors.contract.errors import ChaperonError
from supervisor.protocol.plain import harmless

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 1100px; margin: 24px auto; padding: 0 16px; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid #8885; vertical-align: top; }
table { overflow-wrap: break-word; } td:first-child { overflow-wrap: anywhere; min-width: 9em; } td:last-child:not(.number) { min-width: 12em; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } code { font-size: 13px; }
.chart { max-width: 100%; } .chart .bar { fill: #2f8f75; } .chart text { font-size: 11px; fill: currentColor; } .scroll { overflow-x: auto; }
.chart.bars { overflow: visible; } @media (max-width: 640px) { .chart.bars text { font-size: 25px; } .chart.bars text.wide { display: none; } }
.chart .line { fill: none; stroke: #2f8f75; stroke-width: 2; } .chart .area { fill: #2f8f75; opacity: .15; } .chart .grid { stroke: #8885; }
.chart .mark { stroke: #c9791f; stroke-dasharray: 3 3; } .muted { opacity: .75; } summary { cursor: pointer; } figure { margin: 16px 0; }
"""
"""The style of a file; it holds no text of others."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The policy for the browser that shows a file: it loads nothing, and runs nothing."""


class HtmlFileError(ChaperonError):
    """A file cannot be made, or written."""


def html_file(title: str, *content: h.Node) -> str:
    """Return a whole file, with everything spelled out that would act instead of being shown."""
    made = h.html(lang="en")[
        h.head[
            h.meta(charset="utf-8"),
            h.meta(http_equiv="Content-Security-Policy", content=POLICY),
            h.meta(name="viewport", content="width=device-width, initial-scale=1"),
            h.title[f"{title} · chaperon"],
            h.style[STYLE],
        ],
        h.body[h.h1[title], content],
    ]
    return harmless(str(made))


def html_table(label: str, head: Sequence[str], rows: Iterable[h.Node]) -> h.Element:
    """Return a table that scrolls by itself; a column whose name begins with `#` has numbers.

    Args:
        label: What it is of.
        head: The names of its columns.
        rows: Its rows, as `tr`.
    """
    names = [(name.lstrip("#"), "number" if name.startswith("#") else None) for name in head]
    return h.div(class_="scroll", tabindex="0", role="region", aria_label=label)[
        h.table[h.thead[h.tr[(h.th(scope="col", class_=kind)[name] for name, kind in names)]], h.tbody[rows]]
    ]


def write_html(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        HtmlFileError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HtmlFileError(
            f"The report cannot be written to {path} ({error.strerror}).", way_out="Name another file."
        ) from error
