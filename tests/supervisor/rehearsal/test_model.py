from collections.abc import Mapping
from typing import Any

import anyio
import httpx
import orjson
import pytest

from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import (
    ApiError,
    BrokenStream,
    EndlessStream,
    ErrorEvent,
    Failure,
    Garbage,
    ModelScript,
    Say,
    ScriptStep,
    ScriptTokens,
    ToolUse,
)


def body(*told: str, stream: bool = True, prompt: str = "do it", **more: Any) -> dict[str, Any]:
    """A request as the CLI makes it: the prompt, then one answer of the model and one thing told for each of `told`."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for text in told:
        messages += [{"role": "assistant", "content": "…"}, {"role": "user", "content": text}]
    return {"model": "m", "stream": stream, "tools": [{"name": "Bash"}], "messages": messages, **more}


async def post(model: ScriptedModel, asked: Mapping[str, Any], key: str = "k") -> httpx.Response:
    async with httpx.AsyncClient(base_url=model.url, timeout=30, trust_env=False, verify=False) as client:
        return await client.post("/v1/messages?beta=true", json=asked, headers={"x-api-key": key})


def events(response: httpx.Response) -> list[dict[str, Any]]:
    return [orjson.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]


def text_of(response: httpx.Response) -> str:
    return "".join(
        event["delta"].get("text", "") for event in events(response) if "content_block_delta" in event["type"]
    )


async def test_a_step_is_streamed_as_the_api_streams_it() -> None:
    step = ScriptStep(
        (Say("Looking."), ToolUse("Bash", {"command": "ls"})), tokens=ScriptTokens(input=7, output=3, cache_read=5)
    )
    async with ScriptedModel(ModelScript((step,))) as model:
        got = events(await post(model, body()))
    assert [event["type"] for event in got] == [
        "message_start", "ping",
        "content_block_start", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert got[0]["message"]["usage"]["input_tokens"] == 7
    assert got[0]["message"]["usage"]["cache_read_input_tokens"] == 5
    assert got[5]["content_block"] == {"type": "tool_use", "id": "toolu_0001", "name": "Bash", "input": {}}
    assert orjson.loads(got[6]["delta"]["partial_json"]) == {"command": "ls"}
    assert got[8]["delta"]["stop_reason"] == "tool_use"
    assert got[8]["usage"] == {"output_tokens": 3}


async def test_a_request_without_a_stream_gets_one_json_body() -> None:
    async with ScriptedModel(ModelScript((ScriptStep((ToolUse("Read", {"file_path": "a"}),)),))) as model:
        got = (await post(model, body(stream=False))).json()
    assert got["content"] == [{"type": "tool_use", "id": "toolu_0001", "name": "Read", "input": {"file_path": "a"}}]
    assert got["stop_reason"] == "tool_use"
    assert got["model"] == "m"


async def test_steps_follow_one_another_and_then_the_ending_comes() -> None:
    async with ScriptedModel(ModelScript((ScriptStep((Say("one"),)), ScriptStep((Say("two"),))))) as model:
        said = [text_of(await post(model, body(*["told"] * number))) for number in range(4)]
    assert said == ["one", "two", "All done.", "All done."]
    assert [request.step for request in model.requests] == [0, 1, 2, 3]


async def test_the_same_messages_again_are_a_retry_and_use_no_step() -> None:
    async with ScriptedModel(ModelScript((ScriptStep((Say("one"),)), ScriptStep((Say("two"),))))) as model:
        marked = body()
        marked["messages"][0]["content"] = [{"type": "text", "text": "do it", "cache_control": {"type": "ephemeral"}}]
        plain = body()
        plain["messages"][0]["content"] = [{"type": "text", "text": "do it"}]
        said = [text_of(await post(model, asked)) for asked in (marked, plain, body("told"))]
    assert said == ["one", "one", "two"]
    assert [request.attempt for request in model.requests] == [0, 1, 0]


async def test_a_step_with_failures_succeeds_after_them() -> None:
    failures = (ApiError(529), ApiError(429, retry_after_seconds=0.5), ApiError(500, "broken pipe in the model"))
    async with ScriptedModel(ModelScript((ScriptStep((Say("at last"),), failures),))) as model:
        answers = [await post(model, body()) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [529, 429, 500, 200]
    assert answers[0].json()["error"]["type"] == "overloaded_error"
    assert answers[1].headers["retry-after"] == "0.5"
    assert answers[2].json()["error"]["message"] == "broken pipe in the model"
    assert text_of(answers[3]) == "at last"


async def test_a_call_without_tools_is_answered_beside_the_script() -> None:
    async with ScriptedModel(ModelScript((ScriptStep((Say("one"),)),), side_text="a title")) as model:
        aside = text_of(await post(model, body(tools=[])))
        said = text_of(await post(model, body()))
    assert (aside, said) == ("a title", "one")
    assert [request.step for request in model.requests] == [None, 0]


async def test_a_broken_stream_is_cut_inside_an_event() -> None:
    async with ScriptedModel(ModelScript((ScriptStep((Say("long"),), (BrokenStream(),)),))) as model:
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            await post(model, body())
        assert text_of(await post(model, body())) == "long"


@pytest.mark.parametrize(("failure", "sign"), [(Garbage(), "502 Bad Gateway"), (ErrorEvent(), "overloaded_error")])
async def test_a_stream_can_go_bad_and_end(failure: Failure, sign: str) -> None:
    async with ScriptedModel(ModelScript((ScriptStep((Say("long"),), (failure,)),))) as model:
        response = await post(model, body())
    assert "message_start" in response.text
    assert sign in response.text
    assert "message_stop" not in response.text


async def test_an_endless_stream_pings_until_it_is_left_and_leaving_the_model_ends_it() -> None:
    pings = 0
    with anyio.fail_after(30):
        async with httpx.AsyncClient(trust_env=False, timeout=30, verify=False) as client:
            model = ScriptedModel(ModelScript((ScriptStep((), (EndlessStream(ping_seconds=0.001),)),)))
            async with model, client.stream("POST", f"{model.url}/v1/messages", json=body()) as response:
                async for line in response.aiter_lines():
                    pings += line == "event: ping"
                    if pings == 5:
                        break
    assert pings == 5


async def test_the_pauses_of_a_step_are_kept() -> None:
    step = ScriptStep((Say("slow"),), first_byte_seconds=0.05, chunk_seconds=0.01)
    async with ScriptedModel(ModelScript((step,))) as model:
        before = anyio.current_time()
        await post(model, body())
        took = anyio.current_time() - before
    assert took >= 0.05 + 6 * 0.01


async def test_one_model_serves_several_agents_by_prompt_and_by_key() -> None:
    scripts = [
        ModelScript((ScriptStep((ToolUse("Bash", {}),)),), when="count the files"),
        ModelScript((ScriptStep((Say("for the key"),)),), api_key="agent-2"),
        ModelScript((ScriptStep((Say("for the rest"), ToolUse("Read", {}))),)),
    ]
    async with ScriptedModel(scripts) as model:
        first = events(await post(model, body(prompt="please count the files now")))
        second = text_of(await post(model, body(), key="agent-2"))
        third = await post(model, body(), key="agent-3")
    assert first[2]["content_block"]["id"] == "toolu_0001"
    assert second == "for the key"
    assert text_of(third) == "for the rest"
    assert '"id":"toolu_2_0001"' in third.text
    assert [request.script for request in model.requests] == [0, 1, 2]


async def test_a_conversation_that_no_script_plays_is_refused_by_name() -> None:
    async with ScriptedModel(ModelScript((), when="count the files")) as model:
        response = await post(model, body(prompt="something else"))
    assert response.status_code == 400
    assert "'count the files'" in response.json()["error"]["message"]


async def test_inputs_of_megabytes_arrive_whole_and_in_pieces() -> None:
    content = "ä\n" * 1_500_000
    async with ScriptedModel(ModelScript((ScriptStep((ToolUse("Write", {"content": content}),)),))) as model:
        got = events(await post(model, body()))
    pieces = [event["delta"]["partial_json"] for event in got if event["type"] == "content_block_delta"]
    assert len(pieces) > 10
    assert orjson.loads("".join(pieces)) == {"content": content}


async def test_tokens_are_counted_and_anything_else_is_answered() -> None:
    async with (
        ScriptedModel(ModelScript(())) as model,
        httpx.AsyncClient(base_url=model.url, trust_env=False, verify=False) as client,
    ):
        counted = await client.post("/v1/messages/count_tokens", json=body())
        other = await client.get("/api/hello")
        head = await client.head("/")
        broken = await client.post("/v1/messages", content=b"{")
    assert counted.json()["input_tokens"] > 10
    assert (other.status_code, head.status_code, broken.status_code) == (200, 200, 400)
    assert "no JSON" in broken.json()["error"]["message"]
    assert model.requests == ()


async def test_it_listens_on_loopback_alone() -> None:
    async with ScriptedModel(ModelScript(())) as model:
        assert model.url.startswith("http://127.0.0.1:")
        assert not model.url.endswith(":0")


async def test_a_step_can_be_waited_for() -> None:
    async with ScriptedModel(ModelScript((ScriptStep((Say("one"),)),))) as model, anyio.create_task_group() as group:
        group.start_soon(post, model, body())
        with anyio.fail_after(30):
            request = await model.wait_for_step(0)
    assert request.messages[0]["content"] == "do it"
    assert request.tools == ("Bash",)


async def test_a_conversation_that_was_given_another_task_is_played_by_that_ones_script() -> None:
    scripts = [
        ModelScript(tuple(ScriptStep((Say(f"{name} {number}"),)) for number in range(2)), name, named_last=True)
        for name in ("first", "second")
    ]
    async with ScriptedModel(scripts) as model:
        said = [text_of(await post(model, body(*told, prompt="do the first"))) for told in ([], ["now the second"])]
        said.append(text_of(await post(model, body(prompt="do the first again"))))
    assert said == ["first 0", "second 0", "first 1"]


async def test_an_answer_that_is_held_comes_once_it_is_let_go() -> None:
    gate = anyio.Event()
    async with ScriptedModel(ModelScript((ScriptStep((Say("at last"),), hold=gate.wait),))) as model:
        answers: list[str] = []

        async def ask() -> None:
            answers.append(text_of(await post(model, body())))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await model.wait_for_step(0)
            assert not answers
            gate.set()
    assert answers == ["at last"]


async def test_a_step_fails_however_often_it_is_asked_for_until_it_fails_no_more() -> None:
    failing = [True]
    step = ScriptStep((Say("at last"),), (ApiError(400),), is_failing=lambda: failing[0])
    async with ScriptedModel(ModelScript((step, ScriptStep((Say("next"),))))) as model:
        answers = [await post(model, body()) for _ in range(3)]
        failing[0] = False
        answers += [await post(model, body("go on")), await post(model, body("go on", "more"))]
    assert [answer.status_code for answer in answers] == [400, 400, 400, 200, 200]
    assert [text_of(answer) for answer in answers[3:]] == ["at last", "next"]
