"""Agents that waited for a usage limit go on one after the other, by priority."""

from supervisor.core.board import Board
from supervisor.protocol.claude.prices import Spent
from supervisor.protocol.kinds.tasks import TasksAdded
from supervisor.protocol.tasks import TaskSpec
from supervisor.runtime.daemon.usage_turns import TRY_SECONDS, UsageTurns
from tests.stages.session import Play
from tests.supervisor.core.test_board import play_of


class Limited:
    """Agents of one account that wait until the hundredth second; `late` is of a task of priority 5."""

    def __init__(self) -> None:
        self.now, self.gone = 100.0, list[str]()
        self.board = Board(lambda submitted: Play().make(submitted))
        spec = TaskSpec(id="t-late", prompt="p", repository="/r", priority=5)
        self.board.see(1, TasksAdded(agent="", at=1.0, mono=1.0, request_id="r", by="ann", tasks=(spec,)))
        for number, agent in enumerate(("early", "middle", "late"), 2):
            self.board.see(number, play_of(agent))
            summary = self.board.summary(agent)
            summary.account, summary.started_at = "login", float(number)
            self.refused(agent, 100.0)
        self.board.summary("late").stored_task = "t-late"
        self.turns = UsageTurns(self.board, lambda: self.now)

    def refused(self, agent: str, until: float) -> None:
        self.board.summary(agent).limited_until = until

    def over(self, *agents: str) -> None:
        for agent in agents:
            self.turns.over(agent, lambda agent=agent: self.goes_on(agent))  # type: ignore[misc]

    def goes_on(self, agent: str) -> None:
        self.board.summary(agent).limited_until = None
        self.gone.append(agent)

    def served(self, agent: str) -> None:
        self.board.summary(agent).spends(Spent(input=1, cache_write=0, cache_read=0, output=4, cost_usd=0.1), self.now)


def test_one_tries_first_and_the_others_follow_by_priority_and_age_once_it_was_served() -> None:
    limited = Limited()
    assert [turn.agent for turn in limited.turns.waiting()] == ["late", "early", "middle"]
    limited.over("middle", "late", "early")
    limited.turns.look()
    assert limited.gone == ["middle"], "it was the first whose wait was over"
    assert "go on first: late" in limited.turns.reason("login")
    limited.served("middle")
    limited.turns.look()
    assert limited.gone == ["middle", "late", "early"]
    assert limited.turns.reason("login") == ""


def test_while_the_limit_still_holds_only_one_of_them_is_refused_again() -> None:
    limited = Limited()
    limited.over("early", "late", "middle")
    assert limited.gone == ["early"]
    limited.refused("early", 400.0)
    limited.turns.look()
    assert limited.gone == ["early", "late"], "the next one tries, by priority"
    limited.refused("late", 400.0)
    assert "the usage limit of the account login holds until 1970-01-01 00:06 UTC" in limited.turns.reason("login")


def test_a_refusal_after_one_was_served_is_a_limit_of_its_own() -> None:
    limited = Limited()
    limited.over("early")
    limited.served("early")
    limited.refused("early", 900.0)
    limited.over("late", "middle")
    assert limited.gone == ["early", "late"], "middle waits until late was served"


def test_one_that_says_nothing_holds_the_others_for_a_bounded_time() -> None:
    limited = Limited()
    limited.over("early", "middle", "late")
    limited.now += TRY_SECONDS
    limited.turns.look()
    assert limited.gone == ["early"]
    limited.now += 1.0
    limited.turns.look()
    assert limited.gone == ["early", "late"]


def test_agents_of_another_account_and_those_that_wait_for_something_else_are_not_held() -> None:
    limited = Limited()
    limited.board.summary("late").account = "file:/key"
    limited.board.summary("middle").limited_until = None
    limited.over("early", "late", "middle", "nobody")
    assert sorted(limited.gone) == ["early", "late", "middle"]


def test_one_that_a_person_had_go_on_loses_its_turn() -> None:
    limited = Limited()
    limited.over("early", "middle")
    limited.board.summary("middle").limited_until = None
    limited.served("early")
    limited.turns.look()
    assert limited.gone == ["early"]
    assert [turn.agent for turn in limited.turns.waiting()] == ["late"]


def test_those_that_waited_for_another_account_go_on_in_turn_once_that_one_pays() -> None:
    limited = Limited()
    pays = ["login"]
    turns = UsageTurns(limited.board, lambda: limited.now, lambda: pays[0], limited.goes_on)
    turns.look()
    assert (limited.gone, turns.reason("login")) == (
        [],
        "agents that waited for the usage limit of the account login go on first: late",
    )
    pays[0] = "file:/key"
    assert next((turn.agent, turn.account, turn.due) for turn in turns.waiting()) == ("late", "file:/key", True)
    assert "go on first: late" in turns.reason("file:/key")
    turns.look()
    assert limited.gone == ["late"], "one tries first"
    limited.board.summary("late").account = "file:/key"
    limited.served("late")
    turns.look()
    assert limited.gone == ["late", "early", "middle"]
