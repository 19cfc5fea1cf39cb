"""The policy at work: how a command would be judged, which rules fired, and what is allowed beyond them."""

from collections.abc import Sequence

import htpy as h

from monitors.contract.wording import duration
from supervisor.cli.output.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, agent_link, ask, badge, bounded, empty, facts, moment, path
from supervisor.report.page import ReportLinks, rules_table
from supervisor.report.tally import FiredAt, ReportData

SENTENCE = 2_000
"""Characters of a sentence that are shown."""


def policy_page(
    frame: PageFrame,
    data: ReportData,
    allowances: Sequence[Data],
    lessons: Sequence[Data],
    command: str,
    workspace: str,
    review: Data | None,
) -> h.Element:
    """The page.

    Args:
        frame: Of this request.
        data: The report of the last days.
        allowances: Those in force.
        lessons: What was learned of each pattern.
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
        rules_table(data, ReportLinks(data, "")),
        [h.p(class_="error")[clean(sentence, 300)] for sentence in data.never_right()],
        [_fired(name, rule.places) for name, rule in data.rules() if rule.places],
        h.h2["Allowed beyond the rules"],
        h.ul(class_="options")[(_allowance(one) for one in allowances)] if allowances else empty("Nothing."),
        h.h2["Learned from what people said"],
        h.ul(class_="options")[(_lesson(one) for one in lessons)]
        if lessons
        else empty("Nothing was said of any issue."),
        h.p[h.a(href="/trials")["Try a change of the policy"], " against recorded runs, before you save it."],
        here="Policy",
    )


def _fired(name: str, places: Sequence[FiredAt]) -> h.Element:
    """The calls at which a rule fired last, with the button that lets an agent do the same once."""
    return h.details[
        h.summary[f"Where {clean(name)} fired last"],
        h.ol(class_="timeline", reversed=True)[
            (
                h.li[
                    moment(one.at, "%m-%d %H:%M"),
                    h.div[
                        h.p[
                            agent_link(one.agent),
                            " ",
                            h.a(href=f"{path('agents', one.agent)}?before={one.n + 1}#e{one.n}")[one.decision],
                            " ",
                            h.code[one.call],
                        ],
                        h.div(class_="buttons")[
                            ask(
                                "Allow once…",
                                "confirm",
                                path("agents", one.agent, "allowances"),
                                title=f"Let {clean(one.agent, 60)} do this once",
                                question=one.call,
                                body={"text": one.subject, "tool": one.tool},
                            )
                        ],
                    ],
                ]
                for one in reversed(places)
            )
        ],
    ]


def _lesson(one: Data) -> h.Element:
    last = one["last"]
    said = f"{one['confirmed']:,} confirmed, {one['false_alarms']:,} false alarms, {one['missed']:,} missed"
    undo = ask(
        "Take the last step back…",
        "confirm",
        path("outcomes", str(one["pattern"]), "undo"),
        title=f"{clean(one['pattern'])}: take the last step back",
        question=f"Its factor becomes {last['before']:g} again." if last else "",
    )
    return h.li[
        h.p[clean(one["pattern"]), f": {said}; thresholds of new tasks are multiplied with {one['factor']:g}."],
        h.div(class_="buttons")[undo] if last else None,
    ]


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
