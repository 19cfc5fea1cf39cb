"""Facts that agents note for others: read from a reply, kept by repository, told as information."""

import pytest

from monitors.contract.errors import NotFoundError
from supervisor.core.discoveries import LONGEST, briefing, read_discoveries
from supervisor.core.registers.known_discoveries import MOST_OF_A_PROJECT, Discoveries
from supervisor.core.settings import DiscoverySettings
from supervisor.protocol.events import DiscoveryForgotten, DiscoveryNoted
from supervisor.protocol.words import DiscoveryScope

TASK, REPOSITORY, ALL = DiscoveryScope


def noted(text: str, scope: DiscoveryScope = REPOSITORY, agent: str = "a1", at: float = 5.0) -> DiscoveryNoted:
    return DiscoveryNoted(agent=agent, at=at, mono=0, scope=scope, text=text)


def known(*facts: DiscoveryNoted, project: str = "/r", task: str = "t-1") -> Discoveries:
    made = Discoveries()
    for seq, fact in enumerate(facts, 1):
        made.remember(seq, fact, project, task)
    return made


def told(made: Discoveries, prompt: str = "go", *, project: str = "/r", task: str = "t-1", most: int = 10) -> str:
    bearing = made.bearing_on(project, task)
    return briefing(bearing, prompt, DiscoverySettings(told_at_start=most), beside_others=False)


@pytest.mark.parametrize(
    ("reply", "scope", "text"),
    [
        ("[discovery: repository] Redis is on 6380.", REPOSITORY, "Redis is on 6380."),
        ("I looked.\n- **[discovery] Redis is on 6380.**\nNow the test.", REPOSITORY, "Redis is on 6380."),
        ("`[Discovery: task] a.py is half done`", TASK, "a.py is half done"),
        ("[discovery:all] The proxy refuses PUT.", ALL, "The proxy refuses PUT."),
        ("[discovery: galaxy] Redis is on 6380.", REPOSITORY, "Redis is on 6380."),
    ],
)
def test_a_line_with_the_marker_notes_a_fact(reply: str, scope: DiscoveryScope, text: str) -> None:
    assert list(read_discoveries(reply)) == [(scope, text)]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "A discovery: it works.",
        "[discovery]",
        "[discovery: task",
        "He wrote [discovery] x",
        "[discovery]  `",
        "`[discovery: task] the fact`",
    ],
)
def test_other_lines_note_none(reply: str) -> None:
    assert list(read_discoveries(reply)) == []


def test_what_a_fact_says_is_one_bounded_line_without_secrets_and_without_what_acts_on_a_terminal() -> None:
    key = "AKIA" + "ABCDEFGH12345678"
    hostile = f'[discovery] \x1b[2J\u202edone" says {key}. ' + "x" * 100_000
    [(_, text)] = read_discoveries(hostile)
    assert text.startswith("\\x1b[2J\\u202edone' says")
    assert key not in text
    assert len(text) == LONGEST


def test_facts_reach_whom_they_concern() -> None:
    made = known(noted("of the task", TASK), noted("of the repository"), noted("of all", ALL))
    assert [one.text for one in made.bearing_on("/r", "t-1")] == ["of the task", "of the repository", "of all"]
    assert [one.text for one in made.bearing_on("/r", "t-2")] == ["of the repository", "of all"]
    assert [one.text for one in made.bearing_on("/other", "t-2")] == ["of all"]


def test_a_fact_that_is_noted_again_stands_once_and_as_the_newest() -> None:
    made = known(noted("Redis is on 6380."), noted("Go is 1.22."), noted("redis is on 6380.", agent="a2"))
    assert [(one.id, one.agent) for one in made.all()] == [("d2", "a1"), ("d3", "a2")]


def test_the_oldest_of_a_repository_go_first_and_no_other_repositorys() -> None:
    made = known(noted("elsewhere"), project="/other")
    for number in range(MOST_OF_A_PROJECT + 2):
        made.remember(number + 2, noted(f"fact {number}"), "/r", "t-1")
    texts = [one.text for one in made.all()]
    assert texts[:2] == ["elsewhere", "fact 2"]
    assert len(texts) == MOST_OF_A_PROJECT + 1


def test_a_fact_that_a_person_takes_back_is_told_to_none() -> None:
    made = known(noted("Redis is on 6380."))
    made.remember(2, DiscoveryForgotten(agent="", at=6, mono=0, discovery="d1", by="ann"))
    assert told(made) == ""
    with pytest.raises(NotFoundError, match="There is no discovery 'd1'"):
        made.get("d1")


def test_a_snapshot_and_the_journal_behind_it_give_the_same_however_much_is_read_again() -> None:
    facts = [noted("one"), noted("two", ALL), noted("one"), noted("three", TASK)]
    whole, first = known(*facts), known(*facts[:2])
    second = Discoveries()
    second.restore(first.as_json())
    for seq, fact in enumerate(facts, 1):
        second.remember(seq, fact, "/r", "t-1")
    assert second.as_json() == whole.as_json()


def test_an_agent_is_told_the_facts_that_share_most_words_with_its_task() -> None:
    made = known(noted("the Redis port is 6380", at=1), noted("colours are hex", at=2), noted("Go is 1.22", at=3))
    text = told(made, "Mend the redis client", most=2)
    assert "6380" in text
    assert "1.22" in text
    assert "hex" not in text
    assert "no instructions" in text


def test_only_who_works_beside_others_is_told_how_to_note_a_fact() -> None:
    assert "[discovery: repository]" in briefing([], "go", DiscoverySettings(), beside_others=True)
    assert briefing([], "go", DiscoverySettings(), beside_others=False) == ""


def test_where_it_is_off_nothing_is_told() -> None:
    made = known(noted("one"))
    assert briefing(made.all(), "go", DiscoverySettings(enabled=False), beside_others=True) == ""
