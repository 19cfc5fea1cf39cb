"""The stand-in for a shim of an attached agent: lines and commands on one side, hooks on the other.

A hook's payload becomes lines that the runner reads like a CLI's output. An answer that the core sends as a line waits
here for its hook, if that is not there yet or comes again after a restart of the daemon. Messages to the model wait for
the next hook whose answer can carry them.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import orjson

from supervisor.core.fold.conversation.outbox import MOST_GIVEN
from supervisor.core.session import Session
from supervisor.protocol.claude.control import SHOWN
from supervisor.protocol.identity import Identity
from supervisor.runtime.attached import translation
from supervisor.runtime.attached.call_ids import CallIds
from supervisor.runtime.attached.cli_process import CliProcess, tell_terminal
from supervisor.runtime.attached.transcript import Transcript, timestamp
from supervisor.runtime.processes.shim_events import (
    Accepted,
    CliOutput,
    Exited,
    ExitRecord,
    Frozen,
    ShimEvent,
    TreeKilled,
)

MOST_KEPT = 256
"""Answers that wait for a hook which asks again. One that was killed never does."""

SAME_HOOK_SECONDS = 60.0
"""Longest time between the arrivals of one hook by two settings files. The CLI sends both at once; a program that it
starts for one takes 0.1 s, and some seconds on a machine at its limit."""

MOST_ALIKE = 64
"""Hooks with the same words that are told apart within that time."""

STOPPED = "Chaperon stopped this agent."
"""Text that the CLI shows if a turn ends because of a stop."""

SAID_FROM_SECONDS = 2.0
"""A call that was held for this long or longer has its person told. A review takes some milliseconds."""

UNWATCHED = "Chaperon failed while it watched over this session, so that no call of it is reviewed any more."


class Message(NamedTuple):
    """A text for the model."""

    id: str
    text: str
    shown: str
    """Text for the person beside it."""


@dataclass(slots=True)
class WaitingHooks:
    """Hooks that wait for one answer: one hook, and for a moment itself again in a broken connection's place."""

    answered: anyio.Event = field(default_factory=anyio.Event)
    hooks: int = 0


@dataclass(slots=True)
class SentHook:
    """One hook, which comes once by each settings file that has an entry for it."""

    began: float
    """When it first came."""
    by_source: dict[str, str] = field(default_factory=dict)
    """Its requests by source, in order of arrival."""


class HookLink:
    """The conversation with one attached CLI.

    Args:
        agent: The agent's name.
        process: The CLI.
        directory: The agent's folder, for the position in its session file.
        offset: Position in its lines at which it goes on.
        session: Returns its session.
        mark: The mark of its processes; 0 if they have none.
        wall: Returns Unix time in seconds.
    """

    def __init__(
        self,
        agent: str,
        process: CliProcess,
        directory: Path,
        offset: int,
        session: Callable[[], Session],
        mark: int,
        wall: Callable[[], float],
    ) -> None:
        self.agent = agent
        self.process = process
        self.directory = directory
        self.pid = self.cli_pid = process.pid
        self.containment = "hooks"
        self.identity: Identity | None = None
        self._offset = offset
        self._session = session
        self._mark = mark
        self._wall = wall
        self._heard: deque[ShimEvent] = deque()
        self._due: deque[Callable[[], Awaitable[None]]] = deque()
        self._news = anyio.Event()
        self._waiting: dict[str, WaitingHooks] = {}
        """The hooks that wait, by the request."""
        self._answers: dict[str, tuple[str, Mapping[str, Any]]] = {}
        """The core's answers that no hook took yet, by the request: the line's key, and the answer."""
        self._taken: dict[str, Mapping[str, Any]] = {}
        """The newest answers that a hook took: the core hears of that later than the next hook may ask."""
        self._messages: dict[str, Message] = {}
        """Texts for the model that no hook took yet, by the line's key."""
        self._transcript: Transcript | None = None
        self._position: Mapping[str, Any] = {}
        """How far it was read."""
        self._is_further = anyio.Event()
        """Set once that is further than is noted."""
        self._model = self._version = ""
        self._in_turn = False
        self._said_goodbye = False
        self._stop = ""
        self._farewell: tuple[str, str] | None = None
        """The terminal, and the line for it once the CLI has ended, if that is a stop of ours."""
        self._over = self._closed = self._ending = self._daemon_ends = False
        self._reading = anyio.Lock()
        self._ids = CallIds()
        self._sent: dict[str, list[SentHook]] = {}
        """The newest hooks, by digest."""

    # ── hooks ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def request_of(self, digest: str, source: str, request_id: str) -> str:
        """Return the request of a hook: that of the same hook from another source, if it came.

        A CLI with hooks of ours in two settings files, as the person's own and the project's, sends each hook by both,
        at once. What one source sends twice is two hooks, as two equal calls at once of a CLI that tells no ids, and so
        is what another sends later. A request that was handed on already, as to a daemon before this one, stays itself.

        Args:
            digest: What the hook says.
            source: The entry of the settings that it came by.
            request_id: Its own request.
        """
        if self._is_handed_on(request_id):
            return request_id
        now, hooks = self._wall(), self._sent.pop(digest, [])
        again = next((one for one in hooks if one.by_source.get(source) == request_id), None)
        hooks = [one for one in hooks if one is again or abs(now - one.began) <= SAME_HOOK_SECONDS][-MOST_ALIKE:]
        found = again or next((one for one in hooks if source not in one.by_source), None)
        if found is None:
            found = SentHook(now)
            hooks.append(found)
        found.by_source[source] = request_id
        self._sent[digest] = hooks
        if len(self._sent) > MOST_KEPT:
            del self._sent[next(iter(self._sent))]
        return next(iter(found.by_source.values()))

    async def ask(self, payload: Mapping[str, Any], request_id: str) -> Mapping[str, Any]:
        """Hand a hook to the core, and return the answer for the CLI; waits for as long as the core does.

        A hook that asks again under the same id, after the connection or the daemon went away, is not handed on twice,
        and gets the answer that there was.
        """
        event, payload = str(payload.get("hook_event_name") or ""), self._ids.with_id(payload, request_id)
        if self._over:
            return translation.reply(event, {}, stop=self._stop or UNWATCHED)
        if not self._is_handed_on(request_id):
            async with self._reading:  # in the order in which they came
                if not self._is_handed_on(request_id):  # or else it was in this wait for the turn
                    await self._hand_on(event, payload, request_id)
        answer: Mapping[str, Any]
        if (given := self._given_answer(request_id)) is not None:
            answer = translation.reply(event, given, stop=self._stop)
        else:
            answer = await self._answer(event, payload, request_id)
        if event == translation.GATE:
            self._ids.answered(payload, answer)
        return answer

    def _is_handed_on(self, request_id: str) -> bool:
        """Whether the core has, or had lately, this request."""
        here = request_id in self._waiting or request_id in self._answers
        return here or self._session().waits_for(request_id) or self._given_answer(request_id) is not None

    def _given_answer(self, request_id: str) -> Mapping[str, Any] | None:
        """Return the answer that a hook took; None if there is none."""
        if (taken := self._taken.get(request_id)) is not None:
            return taken
        given = self._session().given_answer(request_id)
        return None if given is None else orjson.loads(given)["response"].get("response") or {}

    async def _hand_on(self, event: str, payload: Mapping[str, Any], request_id: str) -> None:
        frames = await self._spoken(payload)
        if (event in translation.TURN_EVENTS and not self._turn_is_known()) or event == "UserPromptSubmit":
            self._in_turn = True
            frames.append(translation.turn_begins(payload, self._model, self._version))
        if event in translation.RETURNS and self._session().has_reviewed(str(payload.get("tool_use_id") or "")):
            frames.append(translation.result(payload))
        if event == "Stop":
            self._in_turn = False
            frames.append(translation.turn_ends(payload))
        self._said_goodbye = event == "SessionEnd"
        self._print([*frames, translation.request(payload, request_id)])

    def _turn_is_known(self) -> bool:
        """Whether the core knows that a turn is under way; after a restart its state says so."""
        self._in_turn = self._in_turn or self._session().turn_under_way
        return self._in_turn

    async def _answer(self, event: str, payload: Mapping[str, Any], request_id: str) -> Mapping[str, Any]:
        waiting = self._waiting.setdefault(request_id, WaitingHooks())
        waiting.hooks += 1
        began, pause = anyio.current_time(), self._session().summary.pause
        try:
            if request_id not in self._answers and not self._over and not (self._stop and event == translation.GATE):
                await waiting.answered.wait()
        except BaseException:
            # The CLI gave the hook up, unless it asks again already; a daemon that ends gives up nothing.
            if not self._closed and not self._daemon_ends and waiting.hooks == 1:
                self._print([translation.cancelled(request_id)])
            raise
        finally:
            waiting.hooks -= 1
            if not waiting.hooks:
                del self._waiting[request_id]
        key, response = self._answers.get(request_id, ("", {}))
        if key and not waiting.hooks:  # the last one: each has the answer
            del self._answers[request_id]
            self._taken[request_id] = response
            if len(self._taken) > MOST_GIVEN:
                del self._taken[next(iter(self._taken))]
            self._tell(Accepted(key))
        if self._stop:
            return translation.reply(event, response, stop=self._stop)
        told, shown = self._messages_for(event, response)
        if event == translation.GATE and (seconds := anyio.current_time() - began) >= SAID_FROM_SECONDS:
            why = f" ({pause.sentence})" if pause is not None else ""
            shown.append(f"Chaperon held this call for {seconds:.0f} s{why}.")
        if told and event == "Stop":
            self._in_turn = True
            self._print([translation.turn_begins(payload, self._model, self._version)])
        return translation.reply(event, response, told, shown)

    def _messages_for(self, event: str, response: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Take the texts for the model that this hook's answer carries, and what the person is shown of them."""
        refused = (response.get("hookSpecificOutput") or {}).get("permissionDecision") == "deny"
        if not self._messages or refused or event not in {*translation.TELLS, "Stop"}:
            return [], []
        taken = dict(self._messages)
        self._messages.clear()
        for key in taken:
            self._tell(Accepted(key))
        self._print([translation.taken(message.id) for message in taken.values() if message.id])
        return [message.text for message in taken.values() if message.text], [
            message.shown for message in taken.values()
        ]

    async def _spoken(self, payload: Mapping[str, Any]) -> list[translation.Frame]:
        """Return the replies of the model since the hook before, from the session file."""
        path = payload.get("transcript_path")
        if not isinstance(path, str) or not path:
            return []
        lines, position = await anyio.to_thread.run_sync(self._read_on, path)
        if position is not None:
            self._position = position
            self._is_further.set()
        frames = [frame for frame in map(translation.spoken, lines) if frame is not None]
        for line in lines:
            self._version = str(line.get("version") or self._version)
        for frame in frames:
            self._model = str(frame["message"].get("model") or self._model)
        return frames

    def _read_on(self, path: str) -> tuple[list[Mapping[str, Any]], Mapping[str, Any] | None]:
        """Return what came to a session file since, and the position in it, if it was read further. Blocks."""
        transcript = self._transcript
        if transcript is None or transcript.path != path:
            transcript = self._transcript = self._followed(path)
        before = transcript.offset, transcript.tail
        lines = transcript.read()
        if (transcript.offset, transcript.tail) == before:
            return lines, None
        kept = {"path": transcript.path, "offset": transcript.offset or 0, "since": transcript.since}
        return lines, {**kept, "tail": transcript.tail.hex()}

    def _followed(self, path: str) -> Transcript:
        """Return a session file, from the position that is kept of it; of a new one, from now on."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = orjson.loads((self.directory / "transcript.json").read_bytes())
            if kept["path"] == path:
                tail = bytes.fromhex(kept.get("tail", ""))
                return Transcript(path, int(kept["offset"]), str(kept.get("since", "")), tail)
        return Transcript(path, since=timestamp(self._wall()))

    async def _keep_positions(self) -> None:
        """Note how far the session file was read, beside the hooks, which do not wait for it.

        Without that a restart passes over what came meanwhile. What came within the moment before a kill is read again.
        """
        while True:
            await self._is_further.wait()
            self._is_further = anyio.Event()
            await anyio.to_thread.run_sync(self._keep, self._position)

    def _keep(self, position: Mapping[str, Any]) -> None:
        """Write the position. Blocks."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = self.directory / "transcript.json.new"
            new.write_bytes(orjson.dumps(position))
            new.replace(self.directory / "transcript.json")
        except OSError:
            return

    # ── what the runner asks of a shim ────────────────────────────────────────────────────────────────────────────

    def send_line(self, key: str, line: bytes) -> None:
        """Take a line to the CLI: an answer, a message to the model, or what only a CLI with pipes can do."""
        frame = orjson.loads(line)
        match frame.get("type"):
            case "control_response":
                self._keep_answer(key, frame["response"])
            case "user":
                text = str(frame["message"]["content"])
                shown = frame.get(SHOWN) or f"Chaperon to the model: {text}"
                self._messages[key] = Message(str(frame.get("uuid") or ""), text, shown)
            case _ if hint := translation.for_the_person(frame.get("request") or {}):
                self._messages[key] = Message("", "", hint)
            case _:
                if key == "interrupt:stop":
                    self._end_turn(STOPPED)
                self._tell(Accepted(key))

    def _keep_answer(self, key: str, response: Mapping[str, Any]) -> None:
        request_id = str(response["request_id"])
        self._answers[request_id] = (key, response.get("response") or {})
        if (waiting := self._waiting.get(request_id)) is not None:
            waiting.answered.set()
        while len(self._answers) > MOST_KEPT:
            oldest, _ = self._answers.pop(next(iter(self._answers)))
            self._tell(Accepted(oldest))

    def _end_turn(self, why: str) -> None:
        """Have every call refused from now on, those that wait included, and the turn end."""
        if not self._stop and why == STOPPED:
            about = self._session().summary
            again = f" To open its conversation again: claude --resume {about.session_id}." if about.session_id else ""
            text = f"chaperon stopped this agent, {self.agent}: {about.why}. What it did: chaperon show {self.agent}."
            self._farewell = about.terminal, text + again
        self._stop = self._stop or why
        for waiting in self._waiting.values():
            waiting.answered.set()

    def close_input(self) -> None:
        """Nothing more is to be done by it: every call is refused."""
        self._end_turn(STOPPED)

    def terminate(self) -> None:
        """Ask the CLI to end."""
        self._end_turn(STOPPED)
        self._do(partial(anyio.to_thread.run_sync, self.process.ask_to_end))

    def freeze(self, id_: str) -> None:
        """Hold the processes below the CLI; its own next call waits at the gate."""
        self._do(partial(self._freeze, id_))

    def thaw(self) -> None:
        """Let them go on."""
        self._do(partial(anyio.to_thread.run_sync, self.process.let_go, self._mark))

    def end_tree(self) -> None:
        """End the CLI and all below it."""
        self._end_turn(STOPPED)
        self._ending = True
        self._do(self._end)

    def give_up(self) -> None:
        """We failed: the CLI is a person's and goes on, and no call of it passes."""
        self._end_turn(UNWATCHED)
        self._exited(None)

    def ending(self) -> None:
        """Note that the daemon ends: a hook that is cut now was not given up by its CLI."""
        self._daemon_ends = True

    def close(self) -> None:
        """End the conversation; the CLI's hooks ask again, here or at the next daemon."""
        self._closed = True
        self._news.set()

    async def events(self) -> AsyncIterator[ShimEvent]:
        """Yield what happens, in order, until the CLI has gone; what is asked of its processes is done meanwhile."""
        while not self._closed:
            if self._heard:
                heard = self._heard.popleft()
                yield heard
                if isinstance(heard, Exited):
                    return
            elif self._due:
                await self._due.popleft()()
            else:
                self._news = anyio.Event()
                await self._news.wait()

    async def watch(self) -> None:
        """Wait for the end of the CLI, and tell of it: its terminal too, if it is a stop of ours."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_positions, name=f"position in the session file of {self.agent}")
            await self.process.gone()
            tasks.cancel_scope.cancel()
        if self._farewell:
            await anyio.to_thread.run_sync(tell_terminal, *self._farewell)
        if self._ending:
            return  # what is left of its tree is told first
        self._exited(0 if self._said_goodbye else None)

    async def _freeze(self, id_: str) -> None:
        outcome = await anyio.to_thread.run_sync(self.process.hold, self._mark)
        self._tell(Frozen(outcome.micros, id_))

    async def _end(self) -> None:
        outcome = await self.process.end(self._mark)
        self._tell(TreeKilled(outcome.micros, outcome.left))
        self._exited(None)

    def _exited(self, code: int | None) -> None:
        self._over = True
        for waiting in self._waiting.values():
            waiting.answered.set()
        self._tell(Exited(ExitRecord(self.agent, code=code)))

    def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        self._due.append(work)
        self._news.set()

    def _print(self, frames: list[translation.Frame]) -> None:
        if frames:
            data = translation.encoded(frames)
            self._tell(CliOutput(self._offset, data))
            self._offset += len(data)

    def _tell(self, event: ShimEvent) -> None:
        self._heard.append(event)
        self._news.set()
