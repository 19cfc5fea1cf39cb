"""The user's scripts for what happens, run beside all that the agents do, one after the other.

| hook | runs | with |
| --- | --- | --- |
| `pre-start` | before an agent is launched, which waits for it | TASK_ID, AGENT, WORKSPACE |
| `post-complete` | after an agent has ended, whichever way | and STATUS, DURATION in seconds, BRANCH |
| `on-pause` | after an agent was paused | and REASON, RUNNING_TASKS: the ids of all that are at work |
| `on-approval` | when an action waits for a person | and REQUEST, TOOL, ACTION, WHY, DEADLINE in seconds |
| `on-error` | after an incident | ERROR_TYPE, MESSAGE, and, if it is an agent's, its TASK_ID, AGENT, WORKSPACE |

A failure of one is logged and changes nothing else. The facts come as environment variables.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from supervisor.core.fold.history import subject_of
from supervisor.core.fold.summary import Summary
from supervisor.protocol.events import AnyEvent, ApprovalAsked, FaultSeen, IncidentOpened, StateChanged
from supervisor.protocol.words import AgentState
from supervisor.runtime.log import log
from supervisor.runtime.processes.user_program import ProgramError, run_program

MOST_WAITING = 100
"""Events whose hooks wait at once; the rest is passed over. Of a storm, a person needs one notice."""


MOST_CHARACTERS = 4_000
"""Of one fact: what a person reads. The kernel takes 128 KiB."""


class HookRunner:
    """Runs the hooks of one daemon.

    Args:
        programs: Their paths, by hook.
        seconds: How long one may take.
        environment: What each gets beside the facts.
        agents: Tells of all agents.
    """

    def __init__(
        self,
        programs: Mapping[str, str],
        seconds: float,
        environment: Mapping[str, str],
        agents: Callable[[], list[Summary]],
    ) -> None:
        self._programs = programs
        self._seconds = seconds
        self._environment = environment
        self._agents = agents
        self._put, self._take = anyio.create_memory_object_stream[tuple[str, dict[str, str]]](MOST_WAITING)

    async def run(self) -> None:
        """Run what is due, until `close` was called and nothing is left."""
        with self._put, self._take:
            async for hook, facts in self._take:
                await self._run(hook, facts)

    def close(self) -> None:
        """Take nothing more."""
        self._put.close()

    async def before_start(self, agent: str, task: str, workspace: str) -> None:
        """Run `pre-start` and wait for its end."""
        if "pre-start" in self._programs:
            await self._run("pre-start", {"TASK_ID": task, "AGENT": agent, "WORKSPACE": workspace})

    def saw(self, event: AnyEvent) -> None:
        """Have the hooks run that the event asks for; it is in the journal, and need not be folded in yet."""
        match event:
            case StateChanged(after=AgentState.PAUSED, why=why):
                working = [one.task.id for one in self._agents() if not one.state.ended]
                self._soon("on-pause", event.agent, REASON=why, RUNNING_TASKS=" ".join(working))
            case StateChanged(after=after) if after.ended:
                self._soon("post-complete", event.agent, STATUS=str(after), ended_at=event.at)
            case ApprovalAsked(action=action):
                until = f"{event.deadline_seconds:g}"
                about = {"TOOL": action.tool, "ACTION": subject_of(action), "WHY": event.why, "DEADLINE": until}
                self._soon("on-approval", event.agent, None, REQUEST=event.request_id, **about)
            case IncidentOpened(incident=incident) | FaultSeen(incident=incident):
                self._soon("on-error", event.agent, ERROR_TYPE=incident.type, MESSAGE=incident.summary)
            case _:
                pass

    def _soon(self, hook: str, agent: str, ended_at: float | None = None, **facts: str) -> None:
        if hook not in self._programs:
            return
        known = next((one for one in self._agents() if one.agent == agent), None)
        if known is not None:
            facts |= {"TASK_ID": known.task.id, "AGENT": agent, "WORKSPACE": known.workspace, "BRANCH": known.branch}
            if ended_at is not None:
                facts["DURATION"] = f"{max(0.0, ended_at - known.started_at):.0f}"
        try:
            self._put.send_nowait((hook, facts))
        except (anyio.WouldBlock, anyio.ClosedResourceError):
            log.warning("the hook %s was passed over: %d wait, or the daemon ends", hook, MOST_WAITING)

    async def _run(self, hook: str, facts: Mapping[str, str]) -> None:
        program = self._programs[hook]
        environment = {**self._environment, **{name: _plain(value) for name, value in facts.items()}}
        try:
            await run_program(f"hook {hook}", program, str(Path(program).parent), environment, self._seconds)
        except ProgramError as error:
            log.warning("%s", error)


def _plain(value: str) -> str:
    """A value as a variable can hold it."""
    return value[:MOST_CHARACTERS].replace("\0", "").encode(errors="replace").decode()
