"""The policy at work: how a command would be judged, which rules fired, and what is allowed beyond them."""

from collections.abc import Sequence

import htpy as h

from monitors.contract.wording import duration
from supervisor.cli.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, agent_link, ask, badge, bounded, empty, facts, path
from supervisor.report.page import rules_table
from supervisor.report.tally import ReportData

SENTENCE = 2_000
"""Characters of a sentence that are shown."""


def policy_page(
    frame: PageFrame, data: ReportData, allowances: Sequence[Data], command: str, workspace: str, review: Data | None
) -> h.Element:
    """The page.

    Args:
        frame: Of this request.
        data: The report of the last days.
        allowances: Those in force.
        command: The command to explain; empty for none.
        workspace: The workspace in which it would run; empty for none.
        review: The gate's answer to it; None if none was asked for.
    """
    return page(
        frame,
        "Policy",
        h.h1["Policy"],
        h.h2["How would a command be judged?"],
        h.form(method="get", class_="card")[
            h.label["Command", h.textarea(name="command", rows="2", maxlength="20000", required=True)[command]],
            h.label["Workspace, as a whole path", h.input(name="workspace", value=workspace, autocomplete="off")],
            h.div(class_="buttons")[h.button(type="submit", class_="main")["Explain"]],
        ],
        _review(review) if review is not None else None,
        h.h2["Rules that fired in the last seven days"],
        rules_table(data),
        [h.p(class_="error")[clean(sentence, 300)] for sentence in data.never_right()],
        h.h2["Allowed beyond the rules"],
        h.ul(class_="options")[(_allowance(one) for one in allowances)] if allowances else empty("Nothing."),
        here="Policy",
    )


def _review(review: Data) -> h.Element:
    effects = [one for one in review.get("side_effects") or () if isinstance(one, dict)]
    runs_as = review.get("updated_input")
    return h.section(class_="card", aria_label="Answer")[
        h.p[badge(str(review["decision"])), f" risk {review['risk']:.2f}"],
        h.p[clean(review["reasoning"], SENTENCE)],
        facts(
            (
                ("Rule", clean(review.get("rule") or "")),
                ("Runs as", h.code[bounded(runs_as, 2_000)] if runs_as else ""),
                ("Side effects", h.ul[(h.li[_effect(one)] for one in effects)] if effects else ""),
            )
        ),
    ]


def _effect(one: Data) -> str:
    return clean(f"{one.get('type')} ({one.get('severity')}): {one.get('details')}", SENTENCE)


def _allowance(one: Data) -> h.Element:
    what = " ".join(filter(None, (str(one["tool"]), str(one["text"]), str(one["rule"]))))
    left = "" if one["seconds_left"] is None else f", for {duration(max(0.0, one['seconds_left']))} more"
    often = "as often as wanted" if one["uses"] is None else f"{one['uses']:,} more times"
    question = f"{clean(one['agent'], 60)} may no longer: {clean(what, 300)}"
    target = path("agents", str(one["agent"]), "allowances", str(one["id"]), "revoke")
    return h.li[
        h.p[
            agent_link(str(one["agent"])),
            " may ",
            h.code[clean(what, 300)],
            f", {often}{left}, by {clean(one['by'], 60)}",
        ],
        h.div(class_="buttons")[ask("Revoke…", "confirm", target, kind="bad", title="Revoke", question=question)],
    ]
