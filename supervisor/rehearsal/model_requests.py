"""Texts that the model got, read from a request: the proof that a result or a message arrived."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a CLI to the Messages API."""

    number: int
    """Order of arrival, from 0."""
    at: float
    """When it arrived, in seconds of the event loop's clock."""
    script: int | None
    """Index of the script that answered it; None for a call beside the conversation."""
    step: int | None
    """Index of the script's step that answered it, from 0; past the last one it is the ending."""
    attempt: int
    """0 for the first request for this step, then one more for each retry."""
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """Return the conversation as the model got it."""
        messages: Sequence[Mapping[str, Any]] = self.body.get("messages", ())
        return messages

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the model could call."""
        return tuple(tool.get("name", "") for tool in self.body.get("tools") or ())

    @property
    def system(self) -> str:
        """The system prompt, its blocks joined by newlines."""
        return joined_text(self.body.get("system", ""))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The model's text of one tool call's result."""

    tool_use_id: str
    text: str
    is_error: bool


def tool_results(request: Request) -> dict[str, ToolResult]:
    """Every tool result in the conversation, by the call's id."""
    return {result.tool_use_id: result for message in request.messages for result in _results(message)}


def what_the_model_was_told(request: Request) -> str:
    """All that is new in this request: tool results and messages since the model's last answer, in order.

    Reminders that the CLI adds for itself are in it, for that is how a message said in the middle of a turn may come.
    """
    new: list[str] = []
    for message in request.messages:
        if message.get("role") == "assistant":
            new.clear()
        else:
            new.extend(_texts(message))
    return "\n".join(new)


def all_that_the_model_was_told(request: Request) -> str:
    """Every text the model has before it in this request, its own left out, without the system prompt."""
    return "\n".join(
        text for message in request.messages if message.get("role") != "assistant" for text in _texts(message)
    )


def _blocks(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    for block in _blocks(message):
        if block.get("type") == "text":
            yield str(block.get("text", ""))
        elif block.get("type") == "tool_result":
            yield joined_text(block.get("content"))


def _results(message: Mapping[str, Any]) -> Iterator[ToolResult]:
    for block in _blocks(message):
        if block.get("type") == "tool_result":
            text = joined_text(block.get("content"))
            yield ToolResult(str(block.get("tool_use_id")), text, bool(block.get("is_error")))


def joined_text(content: object) -> str:
    """The text of a message's content, of a tool result or of a system prompt: its text blocks, joined by newlines."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        str(block.get("text", "")) for block in content if isinstance(block, dict) and block.get("type") == "text"
    )
