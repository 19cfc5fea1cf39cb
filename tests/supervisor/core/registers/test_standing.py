"""Standing orders as a fold over the journal."""

from typing import Any

from supervisor.core.registers.standing import MOST_ORDERS, MOST_REQUESTS, StandingOrders
from supervisor.protocol import events
from supervisor.protocol.kinds.orders import OrderControl


def ordered(
    control: OrderControl, id_: str, project: str = "", agents: tuple[str, ...] = (), *, label: str = ""
) -> Any:
    return events.OrderGiven(
        agent="", at=5.0, mono=0, id=id_, control=control, by="ann", project=project, label=label, agents=agents
    )


def drained(*, on: bool, project: str = "", label: str = "") -> Any:
    return events.DrainChanged(
        agent="", at=5.0, mono=0, on=on, by="ann", reason="upgrade", project=project, label=label
    )


def paused(request_id: str, agent: str = "a1") -> Any:
    return events.PauseRequested(agent=agent, at=5.0, mono=0, by="ann", request_id=request_id)


def folded(*happened: Any) -> StandingOrders:
    orders = StandingOrders()
    for seq, event in enumerate(happened, 1):
        orders.remember(seq, event)
    return orders


def test_a_pause_of_all_stands_until_it_is_lifted() -> None:
    assert folded().pause_of("/r") is None
    pause = folded(ordered("pause", "1")).pause_of("/r")
    assert pause is not None
    assert pause.id == "1"
    assert folded(ordered("pause", "1"), ordered("resume", "2")).pause_of("/r") is None


def test_a_pause_of_a_repository_holds_its_agents_alone_and_that_of_all_comes_first() -> None:
    orders = folded(ordered("pause", "1", "/r"))
    assert (orders.pause_of("/r"), orders.pause_of("/other"), orders.pause_of("")) == (
        orders.pauses["/r"],
        None,
        None,
    )
    both = folded(ordered("pause", "1", "/r"), ordered("pause", "2"), ordered("resume", "3", "/r"))
    pause = both.pause_of("/r")
    assert pause is not None
    assert pause.id == "2"


def test_a_pause_of_a_label_holds_agents_with_it_until_it_or_all_is_lifted() -> None:
    web = folded(ordered("pause", "1", label="web"), ordered("pause", "2", "/r", label="db"))
    assert [web.pause_of("/x", labels) is not None for labels in (("web", "db"), ("db",), ())] == [True, False, False]
    assert [web.pause_of(project, ["db"]) is not None for project in ("/r", "/x")] == [True, False]
    after = {
        "label": ordered("resume", "3", label="db"),
        "project": ordered("resume", "3", "/r"),
        "both": ordered("resume", "3", "/r", label="web"),
        "all": ordered("resume", "3"),
    }
    left = {
        name: [each.id for each in folded(*web.given.values(), lift).pauses.values()] for name, lift in after.items()
    }
    assert left == {"label": ["1"], "project": ["1"], "both": ["1", "2"], "all": []}


def test_a_drain_of_a_label_or_a_repository_holds_its_tasks_alone_and_is_kept() -> None:
    orders = folded(drained(on=True, label="web"), drained(on=True, project="/r"))
    assert orders.drain is None
    kept = StandingOrders()
    kept.restore(orders.as_json())
    for each in (orders, kept):
        assert [each.drain_of(*of) is not None for of in (("/x", ["web"]), ("/r", []), ("/x", []))] == [
            True,
            True,
            False,
        ]
    assert not folded(*orders.drains.values(), drained(on=False)).drains
    assert folded(*orders.drains.values(), drained(on=False, label="web")).drains.keys() == {"/r"}


def test_a_drain_of_a_daemon_before_there_were_parts_is_read() -> None:
    old = {**StandingOrders().as_json(), "drain": {"agent": "", "at": 5.0, "mono": 0.0, "on": True, "by": "ann"}}
    del old["drains"]
    kept = StandingOrders()
    kept.restore(old)
    assert kept.drain is not None


def test_a_stop_of_a_label_refuses_a_task_with_it_that_was_being_taken() -> None:
    orders = folded(ordered("stop", "1", label="web"))
    assert orders.stop_since(0, "/r", ["web"]) is not None
    assert orders.stop_since(0, "/r", []) is None


def test_a_drain_stands_until_it_is_taken_back() -> None:
    drain = folded(drained(on=True)).drain
    assert drain is not None
    assert drain.reason == "upgrade"
    assert folded(drained(on=True), drained(on=False)).drain is None


def test_a_task_that_was_being_taken_is_stopped_by_an_order_that_came_behind_and_concerns_it() -> None:
    orders = folded(ordered("stop", "1"), ordered("stop", "2", "/r"))
    assert orders.stop_since(0, "/other") is not None
    assert orders.stop_since(1, "/other") is None
    assert orders.stop_since(1, "/r") is not None
    assert orders.stop_since(2, "/r") is None


def test_a_request_is_known_by_its_id_for_the_agents_for_which_it_was_carried_out() -> None:
    orders = folded(paused("7"), events.SayRequested(agent="a2", at=0, mono=0, id="8", text="x", by="ann"), paused(""))
    assert (orders.carried_out("7", "a1"), orders.carried_out("7", "a2"), orders.carried_out("8", "a2")) == (
        True,
        False,
        True,
    )
    assert not orders.carried_out("", "a1")


def test_an_order_without_results_was_cut_off() -> None:
    given = ordered("pause", "1", agents=("a1",))
    assert [order.id for order in folded(given).unfinished()] == ["1"]
    over = events.OrderCarriedOut(agent="", at=0, mono=0, id="1")
    assert list(folded(given, over).unfinished()) == []


def test_only_the_last_orders_and_requests_are_kept_but_whom_a_standing_pause_held_is() -> None:
    orders = folded(ordered("pause", "stands"), paused("stands"))
    for seq in range(3, MOST_ORDERS + 10):
        orders.remember(seq, ordered("say", f"o{seq}"))
    assert "o3" not in orders.given
    for seq in range(1_000, 1_000 + MOST_REQUESTS + 10):
        orders.remember(seq, paused(f"p{seq}"))
    assert orders.carried_out("stands", "a1")
    assert not orders.carried_out("p1000", "a1")
    assert orders.pause_of("/r") is not None


def test_a_snapshot_and_the_journal_behind_it_give_the_same_however_much_is_read_again() -> None:
    happened = [ordered("pause", "1", "/r", ("a1",)), paused("1"), drained(on=True), ordered("resume", "2")]
    whole = folded(*happened)
    for cut in range(len(happened) + 1):
        restored = StandingOrders()
        restored.restore(folded(*happened[:cut]).as_json())
        for seq, event in enumerate(happened, 1):
            restored.remember(seq, event)
        assert restored.as_json() == whole.as_json()
