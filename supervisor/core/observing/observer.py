"""Messages of the CLI to observations: the one translator, for live runs and for recorded ones.

It remembers the calls under way, so that a result can name its tool and its input. The core passes it each review with
`reviewed` and each message to the model with `message_sent`, since those facts are not on the wire.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from monitors.contract.actions import Action, Review
from monitors.contract.error_lines import read_error_line
from monitors.contract.observations import (
    AgentSpoke,
    ContextCompacted,
    ErrorLineSeen,
    Observation,
    ResourcesSampled,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    UsageSeen,
    UserSpoke,
    WorkChecked,
)
from monitors.contract.words import Decision
from supervisor.core.observing.spending import START, ModelReply, Spending
from supervisor.protocol.claude.messages import Assistant, Compacted, ControlResponse, Json, Message, Result, User
from supervisor.protocol.claude.prices import Prices
from supervisor.protocol.events import CheckMade, ErrorLineReceived, ResourcesSeen

KEPT_OF_A_TEXT = 16 * 1024
"""Characters kept at each end of a tool's result. The CLI itself cuts Bash output at 30,000 characters, so most are
kept whole."""

MAX_CALLS = 256
"""Calls remembered at once. A turn has a handful in flight; the bound is for recordings that lost their results."""

MAX_REPLIES = 16
"""Replies of the model being counted at once: the agent's own and those of subagents beside it."""

_COLLATERAL = ("Sibling tool call errored", "Cancelled: parallel tool call")
"""How the CLI says that a call was cancelled beside a failed one: early and later 2.1 versions."""

_REFUSALS = (
    ("hook error:", "gate"),
    ("blocked by hook", "gate"),
    ("blocking because onFailure is block", "gate"),
    ("The user doesn't want to", "person"),
    ("[Request interrupted by user", "person"),
    ("Claude requested permissions to", "cli"),
    ("Permission to use", "cli"),
    ("This command requires approval", "cli"),
)
"""How results of versions without `tool_result_meta` begin where the call never ran, and who refused it."""

_REFUSERS = {"hook": "gate", "user_reject": "person", "user_abort": "person"}
"""The `source` of a rejecting `permission_decision`, and who that is; any other is the CLI's own rules."""


class _Refusal(NamedTuple):
    refused: bool
    by: str


@dataclass(slots=True)
class _Call:
    tool: str
    input: Mapping[str, Any]
    subagent: str
    reply: str = ""
    blocked: bool = False
    reviewed: bool = False


class Observer:
    """Makes one agent's observations. Pure: the same messages give the same observations.

    Args:
        prices: The user's own prices of models.
    """

    def __init__(self, prices: Prices | None = None) -> None:
        self.spending = Spending(prices)
        """The spending; the replies of each launch are counted after `launched` was called for it."""
        self._calls: dict[str, _Call] = {}
        self._replies: dict[str, ModelReply] = {}
        self.used = self.spending.total
        """The usage at the last report."""

    def message(self, message: Message, seq: int, mono: float) -> list[Observation]:
        """Return what the message shows; kinds that show nothing give an empty list.

        Args:
            message: A line of the CLI, parsed.
            seq: Sequence number of the event that brought it.
            mono: When, in seconds of a clock that never goes back.
        """
        match message:
            case Assistant():
                return list(self._assistant(message, seq, mono))
            case User():
                return list(self._results(message, seq, mono))
            case Compacted():
                return [ContextCompacted(seq=seq, mono=mono)]
            case Result():
                self.spending.says(message.model_usage, message.total_cost_usd)
                cost = None if message.total_cost_usd is None else self.spending.total.cost_usd
                ended = TurnEnded(seq=seq, mono=mono, failed=message.is_error, cost_usd=cost)
                return [*self._counted(seq, mono), *self._used(seq, mono), ended]
            case _:
                return []

    def reviewed(self, action: Action, review: Review, seq: int, mono: float) -> list[Observation]:
        """Return the call that the gate has just answered, and remember how it runs."""
        known = self._calls.get(action.tool_use_id)
        subagent = known.subagent if known and known.subagent else action.subagent
        reply = known.reply if known else ""
        runs = action.input if review.updated_input is None else review.updated_input
        self._remember(
            action.tool_use_id,
            _Call(action.tool, runs, subagent, reply, review.decision is Decision.BLOCK, reviewed=True),
        )
        return [
            ToolCalled(
                seq=seq,
                mono=mono,
                id=action.tool_use_id,
                tool=action.tool,
                input=action.input,
                review=review,
                subagent=subagent,
                reply=reply,
            )
        ]

    def usage_told(self, answer: ControlResponse, seq: int, mono: float) -> list[Observation]:
        """Return what the CLI says that it has used, in answer to a question of ours."""
        if answer.request_id == START:
            self.spending.starts_at(*answer.usage())
        else:
            self.spending.says(*answer.usage())
        return self._used(seq, mono)

    def message_sent(self, text: str, by: str, seq: int, mono: float) -> list[Observation]:
        """Take in a message to the model, by `task`, `person` or `chaperon`."""
        return [UserSpoke(seq=seq, mono=mono, text=text, by=by)]

    def _assistant(self, message: Assistant, seq: int, mono: float) -> Iterator[Observation]:
        subagent = message.parent_tool_use_id or ""
        begun = self._replies.get(subagent)
        yield from self._count(message, subagent, seq, mono)
        tell = self._replies[subagent] is not begun
        for block in message.content:
            kind = block.get("type")
            if kind == "text" and isinstance(text := block.get("text"), str) and text.strip():
                yield AgentSpoke(seq=seq, mono=mono, text=text, subagent=subagent)
            elif kind == "tool_use":
                tell = True  # the gate is asked about a call as soon as it is written
                id_, call = str(block.get("id") or ""), block.get("input")
                if id_ not in self._calls:
                    self._remember(
                        id_, _Call(str(block.get("name") or ""), _object(call), subagent, message.message_id)
                    )
        if tell:
            yield from self._used(seq, mono)

    def _used(self, seq: int, mono: float) -> list[Observation]:
        """Return what was used, if that changed."""
        total = self.spending.total
        if total is self.used or total == self.used:
            return []
        self.used = total
        return [UsageSeen(seq=seq, mono=mono, tokens=total.tokens, cost_usd=total.cost_usd)]

    def _results(self, message: User, seq: int, mono: float) -> Iterator[Observation]:
        structured = message.tool_use_result if isinstance(message.tool_use_result, Mapping) else None
        for block in message.results():
            id_ = str(block.get("tool_use_id") or "")
            call = self._calls.pop(id_, None)
            if call is None:
                continue
            text = shortened(text_of(block.get("content")))
            failed = block.get("is_error") is True
            refusal = _refusal(call, text, _meta(message, id_)) if failed else _Refusal(refused=False, by="")
            yield ToolReturned(
                seq=seq,
                mono=mono,
                id=id_,
                tool=call.tool,
                input=call.input,
                text=text,
                failed=failed,
                refused=refusal.refused,
                refused_by=refusal.by,
                collateral=failed and any(mark in text[:200] for mark in _COLLATERAL),
                reviewed=call.reviewed,
                structured=structured,
                subagent=call.subagent,
                reply=call.reply,
            )

    def _remember(self, id_: str, call: _Call) -> None:
        self._calls[id_] = call
        if len(self._calls) > MAX_CALLS:
            del self._calls[next(iter(self._calls))]

    def _count(self, message: Assistant, subagent: str, seq: int, mono: float) -> Iterator[Observation]:
        """Count a reply once, when the next one begins.

        Its blocks come one a frame, and the last has the best usage.
        """
        reply = self._replies.get(subagent)
        if reply is None or reply.id != message.message_id:
            if reply is not None:
                yield from _told([reply], seq, mono)
            reply = self._replies[subagent] = self.spending.reply(message)
            if len(self._replies) > MAX_REPLIES:
                yield from _told([self._replies.pop(next(iter(self._replies)))], seq, mono)
        reply.grows(message.usage, sum(map(_length, message.content)))

    def _counted(self, seq: int, mono: float) -> list[Observation]:
        told = _told(self._replies.values(), seq, mono)
        self._replies.pop(
            "", None
        )  # a subagent in the background may be within a reply, whose next block goes on with it
        return told


def erred(seq: int, event: ErrorLineReceived) -> ErrorLineSeen:
    """Return what a line of the error output shows."""
    line = read_error_line(event.text)
    return ErrorLineSeen(seq=seq, mono=event.mono, level=line.level, topic=line.topic, text=line.text)


def checked(seq: int, event: CheckMade) -> WorkChecked:
    """The observation of a check of the work in a quiet moment."""
    return WorkChecked(
        seq=seq,
        mono=event.mono,
        command=event.result.command,
        passed=event.result.passed,
        text=event.result.output,
        beside=event.beside,
    )


def sampled(seq: int, event: ResourcesSeen) -> ResourcesSampled:
    """The observation of a look at the process tree."""
    return ResourcesSampled(
        seq=seq,
        mono=event.mono,
        memory_mb=event.memory_mb,
        cpu_seconds=event.cpu_seconds,
        processes=event.processes,
        open_files=event.open_files,
        io_bytes=event.io_bytes,
        disk_mb=event.disk_mb,
        file_operations=event.file_operations,
    )


def text_of(content: object) -> str:
    """Return the text of a tool result's content.

    Text blocks become lines; other blocks are shown by their kind in brackets.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        str(block.get("text") or "") if block.get("type") == "text" else f"[{block.get('type')}]"
        for block in content
        if isinstance(block, Mapping)
    )


def shortened(text: str) -> str:
    """The text, or its two ends with a mark of how much was left out between."""
    left_out = len(text) - 2 * KEPT_OF_A_TEXT
    return text if left_out <= 0 else f"{text[:KEPT_OF_A_TEXT]}\n[{left_out} characters]\n{text[-KEPT_OF_A_TEXT:]}"


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _length(block: Json) -> int:
    """Characters that the model wrote in a block, near enough; a tool's input counts its texts."""
    written = block.get("text") or block.get("thinking") or ""
    return len(str(written)) + sum(len(str(value)) for value in _object(block.get("input")).values())


def _told(replies: Iterable[ModelReply], seq: int, mono: float) -> list[Observation]:
    """Tell of the tokens of replies, of each once."""
    fresh = [reply for reply in replies if not reply.told]
    for reply in fresh:
        reply.told = True
    return [_tokens(reply, seq, mono) for reply in fresh]


def _tokens(reply: ModelReply, seq: int, mono: float) -> TokensUsed:
    usage = reply.usage
    return TokensUsed(
        seq=seq,
        mono=mono,
        input_tokens=usage.input_tokens + usage.cache_creation_input_tokens,
        cached_tokens=usage.cache_read_input_tokens,
        output_tokens=reply.output,
    )


def _meta(message: User, id_: str) -> Json:
    return next((meta for meta in message.tool_result_meta if meta.get("id") == id_), {})


def _refusal(call: _Call, text: str, meta: Json) -> _Refusal:
    """Return whether a failed call never ran, and the source of the refusal.

    The CLI's permission decision counts first, then a review that blocked the call.
    """
    decision = _object(meta.get("permission_decision"))
    if call.blocked and decision.get("decision") != "accept":
        return _Refusal(refused=True, by="gate")
    if decision.get("decision") == "reject":
        return _Refusal(refused=True, by=_REFUSERS.get(str(decision.get("source")), "cli"))
    head = text[:300]
    by = next((by for mark, by in _REFUSALS if mark in head), "")
    ran = decision.get("decision") == "accept" or not by
    return _Refusal(refused=not ran, by="" if ran else by)
