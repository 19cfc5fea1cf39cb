"""The outbox of lines to the CLI, under keys, until the shim has accepted them.

A line that may have been sent before a crash is sent again under the same key, and the shim writes it once.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256

from interventions.decisions import LimitsInForce
from supervisor.protocol.claude import control
from supervisor.protocol.commands import SendLine


def message_id(agent: str, began: float, launch: int, key: str) -> str:
    """Return the id of a message, a UUID: the same for the same line, and another for each agent and launch.

    An agent may go on in the session of another, or in its own after a new launch, and the CLI passes over a message
    whose id the session has already.

    Args:
        agent: The receiver.
        began: When the agent was submitted, in Unix seconds: a name may come again in another state directory.
        launch: Number of the agent's launch.
        key: Identifies the line among the others of that launch.
    """
    hashed = sha256(f"{agent} {began} {launch} {key}".encode(errors="surrogatepass")).hexdigest()
    return f"{hashed[:8]}-{hashed[8:12]}-4{hashed[13:16]}-8{hashed[17:20]}-{hashed[20:32]}"


MOST_GIVEN = 16
"""Answers that are kept once they were taken. A CLI makes some calls at once, each of which may ask again."""


class Outbox:
    """The lines of one session that the shim has not accepted yet, oldest first.

    Args:
        keeps_given: Whether the newest answers are kept once they were taken: a hook, which took one by a connection
            that died before it had read it, asks again. A shim never does.
    """

    def __init__(self, *, keeps_given: bool = False) -> None:
        self._keeps_given = keeps_given
        self._given: dict[str, bytes] = {}
        self._lines: dict[str, bytes] = {}
        self._sent: set[str] = set()
        self._asynchronous: set[str] = set()
        self._messages: set[str] = set()
        """The keys of what is said to the model."""
        self._effort: str | None = None
        self._model: str | None = None
        self._as_started = False

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def hooks(self) -> None:
        """The first line of all: it registers the hooks."""
        self._lines["init"] = control.initialize("init")

    def message(self, key: str, text: str, id_: str, shown: str = "") -> None:
        """Something said to the model, as a message of this id, and what its person is shown of it."""
        self._lines[key] = control.user_message(text, id_, shown)
        self._messages.add(key)

    def take_back(self, untaken: Iterable[str]) -> None:
        """Have the CLI begin no turn with earlier messages.

        Args:
            untaken: The ids of the messages that no turn has taken.
        """
        for key in self._messages - self._sent:
            self._lines.pop(key, None)
        for id_ in untaken:
            self._lines[f"cancel:{id_}"] = control.cancel_message(f"cancel-{id_}", id_)

    def interrupt(self, id_: str) -> None:
        """End the turn."""
        self._lines[f"interrupt:{id_}"] = control.interrupt(f"interrupt-{id_}")

    def usage(self, id_: str, instead_of: str = "") -> None:
        """Ask what was used.

        Args:
            id_: The question's id.
            instead_of: The id of one that was given up, and is not sent any more unless it was taken.
        """
        if instead_of and f"ask:{instead_of}" not in self._sent:
            self._lines.pop(f"ask:{instead_of}", None)
        self._lines[f"ask:{id_}"] = control.get_usage(id_)

    def stop_task(self, task_id: str) -> None:
        """End a command in the background."""
        self._lines[f"task:{task_id}"] = control.stop_task(f"stop-{task_id}", task_id)

    def keep_out(self, request_id: str, why: str) -> None:
        """Refuse changed settings.

        The effort stays from now on, since a new one would make the CLI read all settings.
        """
        self._as_started = True
        self.answer(request_id, control.keep_out(request_id, why))

    def pace(self, id_: str, limits: LimitsInForce, usual_model: str | None) -> None:
        """Set the CLI's effort, from the next turn on, and model, from the next request on, if they changed.

        Args:
            id_: Identifies this change.
            limits: The limits in force.
            usual_model: The task's own model, for limits that name none.
        """
        if limits.effort != self._effort and not self._as_started:
            self._effort = limits.effort
            self._lines[f"effort:{id_}"] = control.set_effort(f"effort-{id_}", limits.effort)
        if limits.model != self._model:
            self._model = limits.model
            self._lines[f"model:{id_}"] = control.set_model(f"model-{id_}", limits.model or usual_model)

    def answer(self, request_id: str, line: bytes, *, asynchronous: bool = False) -> None:
        """Answer a request of the CLI; an asynchronous answer may be sent before the journal has its reason."""
        key = f"answer:{request_id}"
        self._lines[key] = line
        if asynchronous:
            self._asynchronous.add(key)

    def withdraw(self, request_id: str) -> None:
        """The CLI waits for this answer no longer."""
        self._drop(f"answer:{request_id}")

    def given(self, request_id: str) -> bytes | None:
        """Return the answer to a request that was taken lately; None if there was none, or it is not kept."""
        return self._given.get(f"answer:{request_id}")

    def accepted(self, key: str) -> None:
        """Note that the shim has the line; nothing happens if there is none of that key."""
        if self._keeps_given and key.startswith("answer:") and key in self._lines:
            self._given[key] = self._lines[key]
            if len(self._given) > MOST_GIVEN:
                del self._given[next(iter(self._given))]
        self._drop(key)

    def _drop(self, key: str) -> None:
        self._lines.pop(key, None)
        self._sent.discard(key)
        self._asynchronous.discard(key)
        self._messages.discard(key)

    def clear(self) -> None:
        """The processes that would have read the lines are gone."""
        self._lines.clear()
        self._given.clear()
        self._sent.clear()
        self._asynchronous.clear()
        self._messages.clear()

    def forget(self) -> None:
        """Others are to be launched in their place, which know of no effort and no model yet."""
        self.clear()
        self._effort = self._model = None
        self._as_started = False

    def take(self) -> list[SendLine]:
        """The lines that were not taken before."""
        if not self._lines or self._sent.issuperset(self._lines):
            return []
        due = [
            SendLine(key, line, key in self._asynchronous) for key, line in self._lines.items() if key not in self._sent
        ]
        self._sent = set(self._lines)
        return due

    def lost(self) -> None:
        """Whether the shim got what was taken is not known: it is all due again."""
        self._sent.clear()
