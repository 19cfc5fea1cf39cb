"""Acts of a person in a rehearsal, while a step's tool calls run or wait."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

import anyio

from monitors.contract.errors import ChaperonError
from supervisor.protocol import events
from supervisor.protocol.records import decode
from supervisor.protocol.rollbacks import RollbackRequest
from supervisor.rehearsal.check import CheckFinding
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.scenario import Interjection, Scenario
from supervisor.runtime.daemon_parts import BootParts
from supervisor.runtime.services.people import rollbacks

NAME = "rehearsal"
"""The person's name in the journal."""


class PersonParts(rollbacks.RollbackParts, BootParts, Protocol):
    """The parts of the daemon that a person's requests need."""


class Person:
    """Interjects what a scenario says.

    Args:
        daemon: The parts of the daemon that a person asks through the socket.
        agent: The agent of the rehearsal.
        scenario: What is played.
        model: Plays it.
        note: Told of what could not be done; the expectations say whether that matters.
    """

    def __init__(
        self,
        daemon: PersonParts,
        agent: str,
        scenario: Scenario,
        model: ScriptedModel,
        note: Callable[[CheckFinding], object],
    ) -> None:
        self._daemon, self._agent, self._scenario, self._model, self._note = daemon, agent, scenario, model, note

    async def interject(self, number: int) -> None:
        """Do what the interjection of this number says, once the model was asked for its step."""
        what = self._scenario.interjections[number]
        script, step = next((script, step) for name, script, step, _ in self._scenario.named_steps() if name == what.at)
        await self._model.wait_for_step(step, script)
        try:
            await self._deed(what)()
        except ChaperonError as error:
            self._note(CheckFinding(f"interjections[{number}]", f"It was not done: {error}", fails=False))

    def _deed(self, what: Interjection) -> Callable[[], Awaitable[object]]:
        stamp, id_, request = self._daemon.stamp(self._agent), f"at-{what.at}", self._daemon.request
        if what.say is not None:
            return partial(request, events.SayRequested(**stamp, id=id_, text=what.say, by=NAME))
        if what.redirect is not None:
            return partial(request, events.RedirectRequested(**stamp, id=id_, text=what.redirect, by=NAME))
        if what.stop is not None:
            return partial(request, events.StopRequested(**stamp, reason=what.stop, by=NAME))
        if what.pause is not None:
            return partial(self._pause, what.pause)
        if what.allow is not None:
            allowed = events.AllowanceGiven(
                **stamp,
                **what.allow.model_dump(exclude={"once"}),
                id=id_,
                by=NAME,
                uses=1 if what.allow.once else None,
                boot_id=self._daemon.boot_id(),
            )
            return partial(request, allowed)
        if what.checkpoint is not None:
            return partial(rollbacks.make, self._daemon, self._agent, what.checkpoint, "", NAME)
        if what.rollback is not None:
            going = RollbackRequest(**what.rollback.model_dump())
            return partial(rollbacks.roll_back, self._daemon, self._agent, going, NAME)
        granted, note = what.approve is not None, what.approve if what.approve is not None else what.deny
        return partial(self._answer, what, granted=granted, note=note or "")

    async def _pause(self, seconds: float) -> None:
        await self._daemon.request(events.PauseRequested(**self._daemon.stamp(self._agent), by=NAME))
        await anyio.sleep(seconds)
        await self._daemon.request(events.ResumeRequested(**self._daemon.stamp(self._agent), by=NAME))

    async def _answer(self, what: Interjection, *, granted: bool, note: str) -> None:
        """Answer each call of the step that waits, as it comes to wait."""
        calls = self._scenario.calls()
        ids = {id_ for id_, (step, call) in calls.items() if step == what.at and what.call in (None, call)}
        async for line in self._daemon.journal.follow():
            event = decode(line.data).event
            if isinstance(event, events.ApprovalAsked) and event.action.tool_use_id in ids:
                ids.discard(event.action.tool_use_id)
                given = events.ApprovalGiven(
                    **self._daemon.stamp(self._agent), request_id=event.request_id, granted=granted, note=note, by=NAME
                )
                await self._daemon.request(given)
            if not ids:
                return
