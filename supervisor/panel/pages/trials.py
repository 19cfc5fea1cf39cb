"""Trials: the forms that begin one, those that are kept, and what came of each."""

from collections.abc import Mapping, Sequence
from typing import Any

import htpy as h

from monitors.contract.wording import counted, duration
from supervisor.cli.output.charts import bar_chart
from supervisor.cli.output.html_file import html_table
from supervisor.cli.output.words import clean
from supervisor.panel.pages.layout import PageFrame, page
from supervisor.panel.pages.parts import Data, badge, block, bounded, empty, moment, path, post
from supervisor.panel.trials import Trial

EXAMPLE = """reviewer:
  rules:
    - name: own.no-curl
      match: [curl]
      why: fetches something
      instead: Fetch nothing here."""
"""Shown in the form for a policy while it is empty."""

MOST_CALLS = 300
"""Calls that are listed; the count is of all."""


def trials_page(frame: PageFrame, kept: Sequence[Trial], scenarios: Sequence[str]) -> h.Element:
    """The page."""
    return page(
        frame,
        "Trials",
        h.h1["Trials"],
        h.p(class_="muted")["What a policy would do, before it is saved. Nothing that runs is touched by a trial."],
        h.h2["Try a change of the policy against recorded runs"],
        h.form(class_="card", method="dialog", data_form="/trials/replay")[
            h.label[
                "Keys as YAML, over those that count now",
                h.textarea(name="policy", rows="7", required=True, maxlength="200000", placeholder=EXAMPLE),
            ],
            h.label["Runs of so many days; empty for all", h.input(name="days", inputmode="decimal", value="7")],
            h.p(class_="error", role="alert", hidden=True),
            h.div(class_="buttons")[h.button(type="submit", class_="main")["Try it"]],
        ],
        h.h2["Rehearse a scenario with the real CLI"],
        h.form(class_="card", method="dialog", data_form="/trials/rehearse")[
            h.label[
                "Scenario: a name, or the path of a file",
                h.input(name="scenario", required=True, list="scenarios", autocomplete="off"),
            ],
            h.datalist(id="scenarios")[(h.option(value=name) for name in scenarios)],
            h.p(class_="muted")["A scripted model on loopback answers the CLI; no account is reached."],
            h.p(class_="error", role="alert", hidden=True),
            h.div(class_="buttons")[h.button(type="submit", class_="main")["Rehearse"]],
        ],
        h.h2["Kept while the panel runs"],
        h.ul(class_="options")[(_row(one) for one in kept)] if kept else empty("There was none yet."),
        here="Policy",
    )


def _row(trial: Trial) -> h.Element:
    return h.li[
        h.p[
            h.a(href=path("trials", trial.id))[clean(trial.id, 60)],
            " ",
            badge(_state(trial)),
            " ",
            moment(trial.began, "%H:%M:%S"),
        ],
        h.p(class_="muted")[clean(trial.subject.splitlines()[0], 200)],
    ]


def _state(trial: Trial) -> str:
    if trial.code is None:
        return "running"
    return "done" if trial.results else "failed"


def trial_page(frame: PageFrame, trial: Trial) -> h.Element:
    """The page of one trial."""
    again = trial.code is None
    target = f"{path('trials', trial.id)}?part=1"
    return page(
        frame,
        clean(trial.id, 60),
        h.div(class_="title")[h.h1[clean(trial.id, 60)], h.a(href="/trials")["All trials"]],
        block(trial.subject),
        h.div(id="trial", data_part=target, data_again=again, data_until_over=again)[trial_part(trial)],
        here="Policy",
    )


def trial_part(trial: Trial) -> h.Fragment:
    """The part that changes: how far it is, and then what came of it."""
    if trial.code is None:
        return h.fragment[
            h.p(role="status")[badge("running"), " ", clean(trial.said or "starting", 400)],
            h.div(class_="buttons")[post("End it", f"{path('trials', trial.id)}/cancel")],
        ]
    took = duration(max(0.0, (trial.ended or trial.began) - trial.began))
    results = trial.results
    if not results:
        return h.fragment[h.p[badge("failed"), f" after {took}"], block("\n".join(trial.lines) or trial.said)]
    shown = _replayed(results) if trial.kind == "replay" else _rehearsed(results[-1])
    return h.fragment[
        h.p(data_over=True)[badge("done"), f" after {took}"],
        h.p(class_="error")["It printed more than is kept; the rest is not shown."] if trial.cut else None,
        shown,
    ]


def _replayed(results: Sequence[Mapping[str, Any]]) -> h.Fragment:
    sessions = [one for one in results if "against" in one]
    calls = [(one, call) for one in sessions for call in one["against"]]
    reviewed = sum(int(one["actions"]) for one in sessions)
    kinds: dict[str, int] = {}
    for _, call in calls:
        name = f"{call['was']} → {call['is']}"
        kinds[name] = kinds.get(name, 0) + 1
    lacks = sorted({str(lack) for one in sessions for lack in one["lacks"]})
    return h.fragment[
        h.p[
            h.b[f"{len(calls):,}"],
            f" of {counted(reviewed, 'call')} in {counted(len(sessions), 'run')} would be decided otherwise.",
        ],
        bar_chart("Calls by what would change", [(name, float(n), f"{n:,}") for name, n in sorted(kinds.items())]),
        h.p(class_="muted")[clean(f"Not known of the moment: {'; '.join(lacks)}.", 1_000)] if lacks else None,
        _calls(calls) if calls else empty("Every call would be decided as it is by the policy that counts now."),
    ]


def _calls(calls: Sequence[tuple[Mapping[str, Any], Data]]) -> h.Element:
    head = ("Agent", "Was", "Would be", "Rule", "Call", "Why")
    return html_table("Calls that would be decided otherwise", head, (_call(call) for _, call in calls[:MOST_CALLS]))


def _call(call: Data) -> h.Element:
    agent, n = str(call["agent"]), int(call["at_event"])
    return h.tr[
        h.td[h.a(href=f"{path('agents', agent)}?before={n + 1}#e{n}")[clean(agent, 60)]],
        h.td[badge(str(call["was"]))],
        h.td[badge(str(call["is"]))],
        h.td[clean(call["rule"], 80)],
        h.td[h.code[clean(call["call"], 200)]],
        h.td[clean(call["reasoning"], 400)],
    ]


def _rehearsed(result: Mapping[str, Any]) -> h.Fragment:
    passed = result.get("passed") is True
    findings = [one for one in result.get("findings") or () if isinstance(one, dict)]
    return h.fragment[
        h.p["Everything is as the scenario expects." if passed else "Not all is as the scenario expects."],
        h.ul[(h.li[clean(f"{one.get('place', '')}: {one.get('says', '')}", 1_000)] for one in findings)]
        if findings
        else None,
        h.details[h.summary["All of it"], block(bounded(dict(result)))],
    ]
