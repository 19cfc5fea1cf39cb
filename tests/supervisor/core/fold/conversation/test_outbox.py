"""Lines wait under their keys until the shim has them."""

from uuid import UUID

import orjson

from interventions.decisions import LimitsInForce
from monitors.contract.tasks import Limits
from supervisor.core.fold.conversation.outbox import MOST_GIVEN, Outbox, message_id
from supervisor.protocol.commands import SendLine


def keys(due: list[SendLine]) -> list[str]:
    return [command.key for command in due]


def test_each_line_is_taken_once_and_in_order() -> None:
    outbox = Outbox()
    outbox.hooks()
    outbox.message("prompt", "do it", "id-1")
    assert keys(outbox.take()) == ["init", "prompt"]
    outbox.interrupt("1")
    assert keys(outbox.take()) == ["interrupt:1"]
    assert outbox.take() == []
    assert list(outbox) == ["init", "prompt", "interrupt:1"]


def test_what_may_be_lost_is_due_again_and_what_was_accepted_is_not() -> None:
    outbox = Outbox()
    outbox.hooks()
    outbox.message("prompt", "do it", "id-1")
    outbox.take()
    outbox.accepted("init")
    outbox.lost()
    assert keys(outbox.take()) == ["prompt"]


def test_messages_that_no_turn_took_are_taken_back_and_those_that_were_not_sent_are_never_sent() -> None:
    outbox = Outbox()
    outbox.message("say:1", "more", "id-1")
    outbox.take()
    outbox.message("say:2", "and more", "id-2")
    outbox.take_back(["id-1", "id-2"])
    assert keys(outbox.take()) == ["cancel:id-1", "cancel:id-2"]


def test_a_question_that_was_given_up_and_not_sent_makes_way_for_the_next() -> None:
    outbox = Outbox()
    outbox.usage("usage-1")
    outbox.usage("usage-2", instead_of="usage-1")
    assert keys(outbox.take()) == ["ask:usage-2"]
    outbox.usage("usage-3", instead_of="usage-2")
    assert list(outbox) == ["ask:usage-2", "ask:usage-3"]


def test_an_answer_that_is_withdrawn_is_not_sent() -> None:
    outbox = Outbox()
    outbox.answer("r1", b"{}\n")
    outbox.withdraw("r1")
    outbox.withdraw("r2")
    assert not outbox
    assert outbox.take() == []


def test_after_a_new_launch_the_same_keys_are_due_again() -> None:
    outbox = Outbox()
    outbox.hooks()
    outbox.take()
    outbox.clear()
    assert outbox.take() == []
    outbox.hooks()
    assert keys(outbox.take()) == ["init"]


def test_an_effort_is_a_request_of_its_own_made_once_in_each_launch() -> None:
    outbox, lowered = Outbox(), LimitsInForce(Limits(), effort="low")
    outbox.pace("7", lowered, None)
    outbox.pace("8", lowered, None)
    (command,) = outbox.take()
    frame = orjson.loads(command.line)
    assert (command.key, frame["request_id"]) == ("effort:7", "effort-7")
    assert frame["request"]["settings"] == {"effortLevel": "low"}
    outbox.forget()
    outbox.pace("9", lowered, None)
    assert keys(outbox.take()) == ["effort:9"]


def test_a_cli_that_keeps_settings_out_is_told_of_no_other_effort_for_that_has_it_read_them() -> None:
    outbox = Outbox()
    outbox.keep_out("r1", "no")
    slow = LimitsInForce(Limits(), effort="low", model="small")
    outbox.pace("i1", slow, None)
    assert [key for key in outbox if not key.startswith("answer:")] == ["model:i1"]
    outbox.forget()
    outbox.pace("i2", slow, None)
    assert sorted(outbox) == ["effort:i2", "model:i2"]


def test_where_the_limits_name_no_model_any_more_the_usual_one_is_asked_for() -> None:
    outbox, lowered = Outbox(), LimitsInForce(Limits(), model="haiku")
    outbox.pace("1", lowered, "opus")
    outbox.pace("2", LimitsInForce(Limits()), "opus")
    models = [orjson.loads(command.line)["request"]["model"] for command in outbox.take()]
    assert models == ["haiku", "opus"]


def test_an_asynchronous_answer_says_so_until_it_may_have_been_lost() -> None:
    outbox = Outbox()
    outbox.answer("r1", b"{}", asynchronous=True)
    outbox.answer("r2", b"{}")
    assert [command.asynchronous for command in outbox.take()] == [True, False]
    outbox.lost()
    assert [command.asynchronous for command in outbox.take()] == [True, False]


def test_a_message_has_the_same_id_whoever_sends_it_again_and_another_for_each_agent_and_launch() -> None:
    ids = [
        message_id(*of)
        for of in [
            ("a1", 5.0, 1, "prompt"),
            ("a1-r1", 5.0, 1, "prompt"),
            ("a1", 6.0, 1, "prompt"),
            ("a1", 5.0, 2, "prompt"),
            ("a1", 5.0, 1, "say:1"),
            ("a\udcff", 5.0, 1, "prompt"),
        ]
    ]
    assert message_id("a1", 5.0, 1, "prompt") == ids[0]
    assert len(set(ids)) == len(ids)
    assert all(str(UUID(id_)) == id_ and UUID(id_).version == 4 for id_ in ids)


def test_an_answer_that_a_hook_took_is_kept_for_one_that_asks_again_and_of_many_the_newest() -> None:
    outbox = Outbox(keeps_given=True)
    for number in range(MOST_GIVEN + 1):
        outbox.answer(f"r{number}", str(number).encode())
        outbox.accepted(f"answer:r{number}")
    assert outbox.given("r0") is None
    assert outbox.given(f"r{MOST_GIVEN}") == str(MOST_GIVEN).encode()
    assert not outbox
    outbox.answer("late", b"x")
    outbox.withdraw("late")
    assert outbox.given("late") is None


def test_a_shim_asks_nothing_again_so_that_nothing_is_kept_for_it() -> None:
    outbox = Outbox()
    outbox.answer("r", b"x")
    outbox.accepted("answer:r")
    assert outbox.given("r") is None
