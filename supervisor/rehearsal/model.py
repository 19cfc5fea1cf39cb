"""The scripted model: a Messages API on loopback that plays scripts to real CLIs and keeps their requests.

    async with ScriptedModel(Script((Step((Use("Bash", {"command": "ls"}),)),))) as model:
        ...  # run a CLI with ANTHROPIC_BASE_URL=model.url and any key
        model.requests

A request after a failed one, or one that repeats the messages of the one before, is the CLI's retry: it gets the same
step again, after the step's failures. Any other request moves its script on by one. So a retry never uses up a step,
even if the CLI changes its request for it (as it does after a 400), and an interrupted step is not replayed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Any, Self

import anyio
import orjson
from anyio.abc import ByteStream, SocketAttribute

from supervisor.rehearsal import reply
from supervisor.rehearsal.connection import Connection, HttpRequest
from supervisor.rehearsal.model_requests import Request, joined_text
from supervisor.rehearsal.play import play
from supervisor.rehearsal.script import ApiError, Failure, ModelScript, Say, ScriptStep, call_id, calls_in


@dataclass(slots=True)
class _Conversation:
    """The position in one script."""

    index: int
    script: ModelScript
    step: int = -1
    attempt: int = 0
    digest: bytes = b""
    failure: Failure | None = None
    """The answer to the last request in the place of the step."""

    def take(self, digest: bytes) -> None:
        """Move on by one step, or count a retry: after a failure, or where the messages are the same as before."""
        if self.failure is not None or digest == self.digest:
            self.attempt += 1
        else:
            self.step, self.attempt = self.step + 1, 0
        self.digest = digest
        failures, is_failing = self.played().failures, self.played().is_failing
        number = self.attempt if is_failing is None else 0 if is_failing() else len(failures)
        self.failure = failures[number] if number < len(failures) else None

    def played(self) -> ScriptStep:
        """The step to play."""
        steps = self.script.steps
        return steps[self.step] if self.step < len(steps) else self.script.ending

    def tool_ids(self) -> Iterator[str]:
        """Ids for this step's calls."""
        before = calls_in(self.script.steps[: self.step])
        return (call_id(self.index, call) for call in count(before))

    def message_id(self) -> str:
        """The id of this step's message: the same in each run."""
        return f"msg_{self.index}_{self.step + 1:04}" if self.index else f"msg_{self.step + 1:04}"


class ScriptedModel:
    """Serves scripts on a free port of 127.0.0.1 for as long as its `async with` lasts.

    Args:
        scripts: One conversation, or several. A request is played by the first script whose `when` and `api_key` fit
            it; one that asks for neither comes after all that do. Of scripts that are `named_last`, the one whose text
            was said last plays.
    """

    def __init__(self, scripts: ModelScript | Iterable[ModelScript]) -> None:
        listed = [scripts] if isinstance(scripts, ModelScript) else list(scripts)
        self._conversations = [_Conversation(index, script) for index, script in enumerate(listed)]
        self._requests: list[Request] = []
        self._changed = anyio.Event()
        self._exit = AsyncExitStack()
        self._port = 0

    @property
    def url(self) -> str:
        """The value of `ANTHROPIC_BASE_URL`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> Sequence[Request]:
        """Every call to the Messages API so far, in order of arrival; those beside the conversation as well."""
        return tuple(self._requests)

    def conversation(self, script: int = 0) -> Sequence[Request]:
        """The requests that this script answered, in order."""
        return tuple(request for request in self._requests if request.script == script)

    async def wait_for_step(self, step: int, script: int = 0) -> Request:
        """Wait until the script is asked for this step (from 0), and return the request."""
        while True:
            for request in self._requests:
                if (request.script, request.step) == (script, step):
                    return request
            await self._changed.wait()

    async def __aenter__(self) -> Self:
        """Bind and serve."""
        async with AsyncExitStack() as stack:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
            self._port = int(listener.listeners[0].extra(SocketAttribute.local_port))  # noqa: S610 - no database here
            stack.push_async_callback(listener.aclose)
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            group.start_soon(listener.serve, self._connected, group)
            self._exit = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """End every connection at once."""
        return await self._exit.__aexit__(kind, error, trace)

    async def _connected(self, stream: ByteStream) -> None:
        await Connection(stream).serve(self._handle)

    async def _handle(self, asked: HttpRequest, connection: Connection) -> None:
        path = asked.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            await connection.answer(200, orjson.dumps({"input_tokens": len(asked.body) // 4}))
        elif path.endswith("/v1/messages") and asked.method == "POST":
            await self._messages(asked, connection)
        else:
            await connection.answer(200, b"" if asked.method == "HEAD" else b"{}")

    async def _messages(self, asked: HttpRequest, connection: Connection) -> None:
        try:
            body = orjson.loads(asked.body)
        except orjson.JSONDecodeError as error:
            problem = ApiError(400, f"The request's body is no JSON: {error}")
            return await connection.answer(400, reply.error_body(problem))
        conversation = self._find(asked, body)
        if not body.get("tools"):
            self._record(asked, body, None)
            text = conversation.script.side_text if conversation else "A rehearsal"
            return await play(connection, body, ScriptStep((Say(text),)), "msg_side", iter(()), None)
        if conversation is None:
            self._record(asked, body, None)
            return await connection.answer(400, reply.error_body(self._no_script()))
        conversation.take(_digest(body))
        self._record(asked, body, conversation)
        step, failure = conversation.played(), conversation.failure
        return await play(connection, body, step, conversation.message_id(), conversation.tool_ids(), failure)

    def _find(self, asked: HttpRequest, body: Mapping[str, Any]) -> _Conversation | None:
        key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "").removeprefix("Bearer ")
        messages = body.get("messages") or [{}]
        first, found, at = joined_text(messages[0].get("content", "")), None, -1
        said = "\n".join(joined_text(one.get("content", "")) for one in messages if one.get("role") != "assistant")
        for conversation in sorted(self._conversations, key=lambda each: not (each.script.when or each.script.api_key)):
            script = conversation.script
            if script.api_key not in ("", key):
                continue
            if script.named_last:
                if (place := said.rfind(script.when)) > at:
                    found, at = conversation, place
            elif script.when in first:
                return found or conversation
        return found

    def _no_script(self) -> ApiError:
        known = ", ".join(repr(conversation.script.when) for conversation in self._conversations) or "none"
        return ApiError(
            400, f"No script of the scenario plays this conversation. Its first message has none of: {known}."
        )

    def _record(self, asked: HttpRequest, body: Mapping[str, Any], conversation: _Conversation | None) -> None:
        self._requests.append(
            Request(
                number=len(self._requests),
                at=anyio.current_time(),
                script=conversation.index if conversation else None,
                step=conversation.step if conversation else None,
                attempt=conversation.attempt if conversation else 0,
                headers=asked.headers,
                body=body,
            )
        )
        self._changed.set()
        self._changed = anyio.Event()


def _digest(body: Mapping[str, Any]) -> bytes:
    """Return the identity of a request: its messages, without the marks for caching."""
    messages = orjson.dumps(_without_cache_marks(body.get("messages")))
    return hashlib.blake2b(messages, digest_size=16).digest()


def _without_cache_marks(value: object) -> object:
    if isinstance(value, list):
        return [_without_cache_marks(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_cache_marks(item) for key, item in value.items() if key != "cache_control"}
    return value
