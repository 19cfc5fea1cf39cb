"""Reports over a time, from made events and from a daemon's journal."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from supervisor.cli.output.words import clean
from supervisor.report.markdown import as_markdown, plain
from supervisor.report.page import as_html
from supervisor.report.tally import ReportData, ReportTally
from tests.stages.daemon import Base, ended, served, until
from tests.supervisor.cli.conftest import chaperon

HOSTILE = "</style><script>alert(1)</script> | [x](http://evil) # \x1b[31m\u202e"


def tallied(*records: dict[str, Any]) -> ReportTally:
    made = ReportTally(0.0, 3 * 86_400.0)
    for record in records:
        made.take({"agent": "a1", "at": 1.0, **record})
    return made


def review(rule: str, decision: str = "block") -> dict[str, Any]:
    action = {"tool": "Bash", "input": {"command": "rm -rf /"}}
    return {"kind": "review_made", "action": action, "review": {"decision": decision, "rule": rule}}


def asked(id_: str, rule: str) -> dict[str, Any]:
    return {**review(rule), "kind": "approval_asked", "request_id": id_}


def answered(id_: str, *, granted: bool) -> dict[str, Any]:
    return {"kind": "approval_given", "request_id": id_, "granted": granted}


def test_a_rule_that_people_always_overrule_is_never_right_and_one_that_they_once_confirmed_is_not() -> None:
    made = tallied(
        review("r1"), asked("1", "r1"), answered("1", granted=True),
        asked("2", "r2"), answered("2", granted=True), asked("3", "r2"), answered("3", granted=False),
        {"kind": "allowance_given", "rule": "r3"}, review("r4"),
    )  # fmt: skip
    assert {name for name, rule in made.rules.items() if rule.is_never_right} == {"r1", "r3"}


def test_an_agent_that_made_no_call_is_listed() -> None:
    made = tallied(
        {"kind": "task_submitted"}, {"kind": "state_changed", "agent": "a2"}, {"kind": "agent_removed", "agent": "a0"}
    )
    assert [name for name, _, _ in ReportData(made, {}, {}).rows()] == ["a1", "a2"]


def test_an_outcome_replaces_the_one_before() -> None:
    raised = {"kind": "issue_seen", "issue": {"type": "loop", "closed": False}}
    false_alarm = {"kind": "outcome_given", "pattern": "loop", "outcome": "false_alarm"}
    made = tallied(raised, {"kind": "issue_seen", "issue": {"type": "loop", "closed": True}}, false_alarm)
    assert made.patterns["loop"].raised == 1
    assert made.patterns["loop"].is_never_right
    made.take({**false_alarm, "outcome": "confirmed", "instead_of": "false_alarm"})
    assert not made.patterns["loop"].is_never_right


def test_an_event_of_another_shape_is_counted_and_breaks_nothing() -> None:
    made = tallied(
        {"kind": "review_made"}, {"kind": "review_made", "review": 3, "action": None}, {"kind": "new_kind"}, {}
    )
    assert made.events == 4
    assert made.agents == {}


def test_nothing_that_an_agent_wrote_is_markup_in_a_report() -> None:
    made = tallied({**review(HOSTILE), "agent": HOSTILE})
    data = ReportData(
        made, {HOSTILE: {"task": {"prompt": HOSTILE}, "state": "done", "cost_usd": 1.5}}, {"1970-01-02": 1.5}
    )
    html, markdown = as_html(data), as_markdown(data)
    assert html.count("<script") == 0
    assert "\x1b" not in html + markdown
    assert "\u202e" not in html + markdown
    assert "$1.50" in html
    assert r"\<script\>" in markdown
    assert r"\[x\](http\://evil)" in markdown
    assert all(line.count("|") - line.count(r"\|") in (0, 9, 8, 6, 5, 3) for line in markdown.splitlines())


STOP = {
    "kind": "incident_opened", "agent": "a b",
    "incident": {"id": "i-1", "type": "emergency_stop", "severity": "high", "summary": "It went wrong."},
}  # fmt: skip


@pytest.mark.parametrize(
    ("panel", "targets"),
    [
        ("", {"#agent-a%20b"}),
        ("https://ann.example/x/", {"https://ann.example/x/agents/a%20b", "https://ann.example/x/incidents/i-1"}),
    ],
)
def test_agents_are_links_to_the_panel_if_one_is_known_and_into_the_report_otherwise(
    panel: str, targets: set[str]
) -> None:
    made = tallied({**review("x"), "agent": "a b"}, {**review("x"), "agent": "gone"}, STOP)
    html = as_html(ReportData(made, {"a b": {"state": "done"}}, {}), panel)
    links = set(re.findall(r'href="([^"]*)"', html)) - {"#agent-gone"}
    assert links == targets
    dead = {f'id="{link[1:]}"' for link in re.findall(r'href="(#[^"]*)"', html)}
    assert all(anchor in html for anchor in dead)
    if panel:
        assert "agents/gone" not in html, "whom the daemon knows no more has no page"


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE, "# head", "- item", "+ item", "1. one", "2) two", "===", "a\\b", "_em_ __strong__ *em* **strong**", "`code` ``c``",
        "![picture](x) [link](y) [ref]", "<b>bold</b> <https://evil.org>", "&amp; &#35;", "~~gone~~", "https://evil.org www.evil.org",
    ],
)  # fmt: skip
def test_markdown_shows_the_text_of_others_as_it_stands(text: str) -> None:
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(plain(text))
    assert re.fullmatch(r"<p>[^<>]*</p>\n", shown), shown
    assert unescape(shown)[3:-5] == clean(text, 120)


def test_text_without_a_meaning_in_markdown_is_as_it_is_in_a_terminal_too() -> None:
    for text in ("Translate the manual.", "files.delete-outside", "repetitive_errors", "git push (-f) #3: /tmp/a+b!"):
        assert plain(text) == text


async def test_a_report_says_what_agents_did_what_was_stopped_and_which_rules_fired(base: Base, tmp_path: Path) -> None:
    base.plan("ls", "git push --force origin main", "rm -rf /")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt="Tidy up"), by="test")
        await ended(daemon)
        await until(lambda: daemon.journal.last > 0)
        printed = await chaperon("report", "--week")
        assert printed.exit_code == 0, printed.output
        assert "1 agent made 3 calls: 1 blocked, 1 changed" in printed.output
        assert "git.push-force" in printed.output
        assert "Tidy up" in printed.output
        facts = json.loads((await chaperon("report", "--json")).stdout)
        assert facts["decisions"] == {"allow": 1, "block": 1, "modify": 1}
        file = tmp_path / "report.html"
        assert (await chaperon("report", "--html", str(file))).exit_code == 0
        assert "git.push-force" in file.read_text()
        none = json.loads((await chaperon("report", "--json", "--since", "1s")).stdout)
        assert none["agents"].keys() <= {"a1"}
        ahead = await chaperon("report", "--since", "2999-01-01")
        assert (ahead.exit_code, "lies ahead" in ahead.stderr) == (2, True)
        assert (await chaperon("report", "--html", "/nowhere/x.html")).exit_code == 1
        assert (await chaperon("report", "--week", "--since", "1d")).exit_code == 2
        timeline = (await chaperon("show", "a1", "--timeline")).output
        steps = json.loads((await chaperon("show", "a1", "--timeline", "--json")).stdout)
        why = json.loads((await chaperon("show", "a1", "--why", "--json")).stdout)
        assert (await chaperon("show", "a1", "--timeline", "--why")).exit_code == 2
    assert [line["text"] for step in steps for line in step["lines"] if "rm -rf" in line["text"]]
    assert all(step["took_seconds"] >= 0 and step["after_seconds"] >= 0 for step in steps)
    assert why.keys() >= {"used", "most"}
    assert "workspace" not in why
    assert timeline.index("Bash ls") < timeline.index("git push") < timeline.index("rm -rf /")
    assert all(line.startswith((" ", "+")) for line in timeline.splitlines())
