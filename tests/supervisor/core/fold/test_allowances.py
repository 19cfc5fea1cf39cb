"""What a person allows, used by the gate of a session, and rebuilt from its journal."""

from dataclasses import replace
from typing import Any

import pytest

from monitors.contract.actions import Action
from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from monitors.contract.words import Decision
from monitors.review.allowances import Allowance
from supervisor.core.fold.allowances import Allowances
from supervisor.protocol import events
from supervisor.protocol.commands import Command
from tests.stages.session import Play, answers, verdict

RULES = {"push": verdict(Decision.BLOCK, "rewrites"), "doom": verdict(Decision.BLOCK, "ends it", stop=True)}


def running() -> Play:
    return Play(RULES).running()


def given(play: Play, **facts: Any) -> events.AllowanceGiven:
    return events.AllowanceGiven(**{**play.stamp(), "id": "w-1", "by": "ann", "text": "git push", **facts})


def decided(commands: list[Command]) -> str:
    (answer,) = answers(commands)
    return str(answer["permissionDecision"])


def test_what_is_allowed_once_runs_once() -> None:
    play = running()
    play.feed(given(play))
    assert decided(play.call("git push origin")) == "deny"
    assert decided(play.call("git push")) == "allow"
    made = play.journal[-1][1]
    assert isinstance(made, events.ReviewMade)
    assert (made.review.allowance, made.review.reasoning) == ("w-1", "ann allowed it (w-1). Without that: rewrites")
    assert decided(play.call("git push")) == "deny"


def test_the_second_gate_does_not_use_it_up_again() -> None:
    play = running()
    play.feed(given(play, uses=2))
    play.call("git push")
    play.permission("git push")
    assert [one.uses for one in play.session.allowances(play.now)] == [1] if play.session else False


def test_what_is_allowed_for_a_while_runs_until_then() -> None:
    play = running()
    play.feed(given(play, text="", rule="test.rule", uses=None, seconds=60.0))
    assert [decided(play.call("git push origin")) for _ in range(3)] == ["allow"] * 3
    play.now += 60
    assert decided(play.call("git push origin")) == "deny"
    assert play.session is not None
    assert play.session.allowances(play.now) == ()


def test_what_is_taken_back_counts_no_more() -> None:
    play = running()
    play.feed(given(play, uses=None))
    play.feed(events.AllowanceRevoked(**play.stamp(), id="w-1", by="ann"))
    assert decided(play.call("git push")) == "deny"


def test_what_stops_an_agent_is_never_allowed() -> None:
    play = running()
    play.feed(given(play, text="doom"))
    assert decided(play.call("doom")) == "deny"


def test_after_a_restart_it_is_as_it_was_and_after_a_new_boot_it_is_worth_nothing() -> None:
    play = running()
    play.feed(given(play, uses=2))
    play.call("git push")
    first = play.journal[0][1]
    assert isinstance(first, events.TaskSubmitted)
    rebuilt = play.make(first)
    for seq, event in play.journal:
        rebuilt.remember(seq, event)
    assert [one.uses for one in rebuilt.allowances(play.now)] == [1]
    assert rebuilt.allowances(1.0) == ()


def test_what_was_given_before_a_new_boot_is_not_worth_something_again_later() -> None:
    play = running()
    play.feed(given(play, text="", rule="test.rule", uses=None))
    late, play.now = play.now, 5.0
    play.feed(events.AgentAdopted(**play.stamp(), outcome="reattached"))
    play.now = late + 1
    assert play.session is not None
    assert play.session.allowances(play.now) == ()
    assert decided(play.call("git push")) == "deny"


def test_what_was_given_in_a_shorter_boot_before_is_worth_nothing_in_this_one() -> None:
    play = running()
    play.feed(given(play, boot_id="first"))
    play.now += 1_000
    play.feed(events.AgentAdopted(**play.stamp(), outcome="reattached", boot_id="second"))
    assert decided(play.call("git push")) == "deny"


def test_a_journal_that_names_no_boot_is_read_as_before() -> None:
    play = running()
    play.feed(given(play))
    play.feed(events.AgentAdopted(**play.stamp(), outcome="reattached", boot_id="second"))
    assert decided(play.call("git push")) == "allow"


def test_a_rule_that_there_is_none_of_is_refused_with_those_that_look_like_it() -> None:
    play = running()
    assert play.session is not None
    request = given(play, rule="git.push-forse", text="")
    with pytest.raises(UsageError, match=r"There is no rule 'git.push-forse'") as refused:
        play.session.check(request)
    assert "git.push-force" in str(refused.value.way_out)
    play.session.check(given(play, rule="ours.release", text=""))


def test_a_new_daemon_of_the_same_boot_keeps_what_was_given() -> None:
    play = running()
    play.feed(given(play, boot_id="first"))
    play.feed(events.AgentAdopted(**play.stamp(), outcome="reattached", boot_id="first"))
    assert decided(play.call("git push")) == "allow"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rule": "chaperon.self-protection"}, "Nobody is excused from 'chaperon.self-protection'"),
        ({"rule": "process.kill-guard", "text": ""}, "Nobody is excused"),
        ({"from_agent": "a1"}, "agents allow nothing"),
        ({"text": ""}, "An allowance for everything is none"),
        ({"uses": 0}, "of 0 uses"),
        ({"seconds": -1.0}, "for -1.0 s"),
    ],
)
def test_what_cannot_be_allowed_is_refused(wrong: dict[str, Any], says: str) -> None:
    play = running()
    assert play.session is not None
    with pytest.raises(UsageError, match=says):
        play.session.check(given(play, **wrong))


def test_one_that_there_is_none_of_cannot_be_taken_back() -> None:
    play = running()
    assert play.session is not None
    error: type[ChaperonError] = NotFoundError
    with pytest.raises(error, match="no allowance 'w-9'"):
        play.session.check(events.AllowanceRevoked(**play.stamp(), id="w-9", by="ann"))


def test_a_rule_by_which_a_call_was_blocked_can_be_named_whoever_wrote_it() -> None:
    play = Play({"push": replace(verdict(Decision.BLOCK, "ours"), rule="git.push-forse")}).running()
    play.call("git push")
    assert play.session is not None
    play.session.check(given(play, rule="git.push-forse", text=""))


def test_a_rule_that_there_is_not_is_refused_with_those_that_are_near() -> None:
    play = Play(RULES)
    play.submit()
    assert play.session is not None

    def refused(rule: str, own: frozenset[str] | None) -> str:
        try:
            Allowances(own).check(given(play, text="", rule=rule))
        except UsageError as error:
            return error.way_out
        return ""

    own = frozenset({"own.no-make"})
    assert refused("nosuch.rule", own) == "Reviews name their rule, and `chaperon rules` lists them."
    assert refused("own.no-mak", own).startswith("Did you mean 'own.no-make'?")
    assert refused("git.push-forse", None).startswith("Did you mean 'git.push-force'")
    assert refused("nosuch.rule", None) == "", "a plugin that reviews may name any"
    assert [refused(rule, own) for rule in ("own.no-make", "git.push-force")] == ["", ""]


@pytest.mark.parametrize(
    "given_",
    [
        {"notebook_path": "/w/a.ipynb"},
        {"path": "/w"},
        {"pattern": "x"},
        {"query": "cats"},
        {"url": "https://x"},
        {"command": "ls"},
    ],
)
def test_whatever_a_call_is_about_can_be_named(given_: dict[str, str]) -> None:
    (text,) = given_.values()
    allowance = Allowance("w-1", "ann", text=text)
    assert allowance.covers(Action("Tool", given_), verdict(Decision.BLOCK), 0.0)
    assert (
        not allowance.covers(Action("Tool", {"command": "rm -rf /", **given_}), verdict(Decision.BLOCK), 0.0)
        or "command" in given_
    )


def test_a_host_that_is_allowed_is_used_up_by_what_the_gateway_tells_and_lets_no_call_pass() -> None:
    play = running()
    play.feed(given(play, tool="host", text="git push", uses=2))
    assert decided(play.call("git push")) == "deny"
    play.feed(events.HostReached(**play.stamp(), host="git push", times=1, allowance="w-1"))
    assert play.session is not None
    assert [one.uses for one in play.session.allowances(play.now)] == [1]
    play.feed(events.HostReached(**play.stamp(), host="git push", times=1))
    assert [one.uses for one in play.session.allowances(play.now)] == [1], "by the configuration"
    play.feed(events.HostReached(**play.stamp(), host="git push", times=1, allowance="w-1"))
    assert play.session.allowances(play.now) == ()
