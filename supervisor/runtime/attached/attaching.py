"""Attached agents: the one that a hook is of, one made for a CLI that is new, those of before found again."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from checkpoints.workspace.worktree import worktree_of
from host.standing import is_folder
from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.tasks import MAX_PROMPT_BYTES, Task
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.runtime.attached.cli_process import CliProcess
from supervisor.runtime.attached.link import HookLink
from supervisor.runtime.attached.translation import GATE
from supervisor.runtime.daemon_parts import BoardParts, BootParts, EventParts

BEGINS = frozenset({"UserPromptSubmit", GATE})
"""The hooks with which an agent begins: before a prompt there is no task, and other hooks need no agent."""

NO_PROMPT = "Work in a session that a person began."
"""The task of an agent whose first hook is a call, because chaperon was not there as its prompt was given."""

ORIGINS = {"cli": "terminal", "sdk-py": "sdk", "sdk-ts": "sdk", "sdk-cli": "sdk"}
"""The origin by `CLAUDE_CODE_ENTRYPOINT`, which the CLI sets for its hooks (measured, 2.1.329); others are editors'."""

CLIENT = re.compile(r"[a-z][a-z0-9-]{0,19}")
"""The names that a CLI may give itself in its hooks."""


class AttachingParts(BoardParts, EventParts, BootParts, Protocol):
    """The parts of the daemon that attaching needs."""

    def begin_attached(self, submitted: events.TaskSubmitted, link: HookLink) -> None:
        """Have an agent begin whose CLI runs already."""
        ...

    def usual(self, task: Task) -> Task:
        """Return a task with the usual limits."""
        ...


class Attaching:
    """The attached agents that live, by the process of their CLI.

    Args:
        parts: The daemon.
        directory: Returns the folder of an agent.
        tasks: The task group in which their processes are watched.
        free_name: Returns a name that no agent has or had.
        refuse: Raises if no task is taken now.
    """

    def __init__(
        self,
        parts: AttachingParts,
        directory: Callable[[str], Path],
        tasks: TaskGroup,
        free_name: Callable[[], str],
        refuse: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._directory = directory
        self._free_name = free_name
        self._refuse_tasks_for_now = refuse
        self._tasks = tasks
        self._links: dict[CliProcess, HookLink] = {}
        self._one_at_a_time = anyio.Lock()

    def again(self, session: Session) -> HookLink | None:
        """The link of an agent that a daemon before this one left; None if its process is not known."""
        attached = session.attached
        if attached is None:
            return None
        ticks = attached.cli_start_ticks if attached.boot_id == self._parts.boot_id() else 0
        return self._link(session.summary.agent, CliProcess(attached.cli_pid, ticks), session.offset, attached.mark)

    def knows(self, process: CliProcess) -> bool:
        """Whether an agent's CLI is this process."""
        return process in self._links

    def ending(self) -> None:
        """Note that the daemon ends: what it was asked is not given up, and asked again."""
        for link in self._links.values():
            link.ending()

    async def agent_of(
        self, process: CliProcess, payload: Mapping[str, Any], about: Mapping[str, str]
    ) -> HookLink | None:
        """The link of the agent that a hook is of; a new one for a CLI that is new. None if the hook begins none.

        Raises:
            ChaperonError: No agent can be made now.
        """
        async with self._one_at_a_time:
            link = self._links.get(process)
            if link is not None or payload.get("hook_event_name") not in BEGINS:
                return link
            return await self._begin(process, payload, about)

    async def _begin(self, process: CliProcess, payload: Mapping[str, Any], about: Mapping[str, str]) -> HookLink:
        workspace = await anyio.to_thread.run_sync(_workspace, str(payload.get("cwd") or ""))
        terminal = await anyio.to_thread.run_sync(process.terminal)
        mark = await anyio.to_thread.run_sync(process.marked)
        self._refuse_tasks_for_now()
        name, prompt = self._free_name(), payload.get("prompt")
        said = isinstance(prompt, str) and bool(prompt.strip())
        text = str(prompt).encode(errors="replace")[:MAX_PROMPT_BYTES].decode(errors="ignore") if said else NO_PROMPT
        mode = str(payload.get("permission_mode") or "default")
        task = Task(f"t-{uuid4().hex[:8]}", text, workspace, permission_mode=mode, keep_open=True)
        submitted = events.TaskSubmitted(
            **self._parts.stamp(name),
            task=self._parts.usual(task),
            workspace=workspace,
            session_id=str(payload.get("session_id") or ""),
            factors=dict(self._parts.board.lessons.factors),
            origin=origin(about, payload.get("client")),
        )
        self._parts.board.admit(submitted)
        link = self._link(name, process, 0, mark)
        self._parts.begin_attached(submitted, link)
        self._parts.happened(
            events.AgentAttached(
                **self._parts.stamp(name),
                cli_pid=process.pid,
                cli_start_ticks=process.start_ticks,
                boot_id=self._parts.boot_id(),
                terminal=terminal,
                mark=mark,
            )
        )
        return link

    def _link(self, agent: str, process: CliProcess, offset: int, mark: int) -> HookLink:
        directory = self._directory(agent)
        session, wall = partial(self._parts.board.session, agent), self._wall
        link = HookLink(agent, process, directory, offset, session, mark, wall)
        self._links[process] = link
        self._tasks.start_soon(self._watch, link, name=f"process of {agent}")
        return link

    def _wall(self) -> float:
        return self._parts.stamp("")["at"]

    async def _watch(self, link: HookLink) -> None:
        await link.watch()
        self._links.pop(link.process, None)


def origin(about: Mapping[str, str], client: object = None) -> str:
    """Name what started a CLI, or the CLI itself if it is another than Claude's.

    It is for people only, since every program can say what it likes.

    Args:
        about: Variables of its environment.
        client: The name of another CLI, as its hook says it.
    """
    if isinstance(client, str) and CLIENT.fullmatch(client):
        return client
    entry = about.get("CLAUDE_CODE_ENTRYPOINT", "")
    if about.get("CI", "") not in ("", "0", "false"):
        return "ci"
    return ORIGINS.get(entry, "editor" if entry else "terminal")


def _workspace(cwd: str) -> str:
    """Return the top of the worktree in which a CLI works, or its own directory if that is in none. Blocks."""
    path = Path(cwd)
    if not path.is_absolute() or not is_folder(path):
        raise UsageError(f"The CLI says that it works in {cwd!r}, which is no directory; its calls are not reviewed.")
    try:
        return str(worktree_of(path))
    except ChaperonError:  # its files cannot be captured then, and its calls can be reviewed all the same
        return str(path.resolve())
