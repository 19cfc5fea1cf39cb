"""The methods of both clients: each names its route, and what is sent with it.

The answers are the daemon's JSON; `/openapi.json` and the page of the API describe them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

JsonObject = dict[str, Any]

One = TypeVar("One")
Many = TypeVar("Many")
Lines = TypeVar("Lines")


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request of the socket, before it is sent."""

    method: str
    route: str
    """As the OpenAPI description has it. Example: `/v1/agents/{agent}`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The values for the names in the route."""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    patient: bool = False
    """Whether the answer may take as long as it takes: a workspace is set up, or files are written."""

    @property
    def path(self) -> str:
        """The route with its names filled in."""
        return self.route.format_map({name: quote(value, safe="") for name, value in self.names.items()})


class Calls(ABC, Generic[One, Many, Lines]):
    """The methods of a client.

    Each raises a `ChaperonError` that says what happened and, in `way_out`, what to do: `NoDaemonError`,
    `DaemonGoneError`, `StrangerError`, or `RefusedError` with the daemon's own sentence (`MisusedError` if what was
    asked cannot be).
    """

    @abstractmethod
    def ask(self, call: ApiCall) -> Any:
        """Send a request and give back its answer; for routes that have no method here."""

    @abstractmethod
    def stream(self, call: ApiCall) -> Lines:
        """Send a request and yield the objects of its answer, line by line."""

    def health(self) -> One:
        """Return how the daemon is."""
        return self._one(ApiCall("GET", "/v1/health"))

    def agents(self, *, recent: bool = False, label: str | None = None) -> Many:
        """Return the summaries of all agents, oldest first; or only of recent ones, or of those with a label."""
        more = {} if label is None else {"label": label}
        return self._many(ApiCall("GET", "/v1/agents", query={"recent": recent, **more}))

    def agent(self, name: str) -> One:
        """Return the summary of one agent, live or ended."""
        return self._one(ApiCall("GET", "/v1/agents/{agent}", {"agent": name}))

    def submit(self, prompt: str, repository: str, *, name: str | None = None, **more: Any) -> One:
        """Start an agent on a task; returns its summary once it is launched.

        Args:
            prompt: The prompt for the agent.
            repository: A directory in a git worktree.
            name: The agent's name; None takes the next of a1, a2 and so on.
            more: Other fields of the request. Examples: `model`, `max_cost_usd`, `keep_open`, `expected_paths`.
        """
        body = {"prompt": prompt, "repository": repository, "name": name, **more}
        return self._one(ApiCall("POST", "/v1/agents", body=body, patient=True))

    def say(self, agent: str, text: str, *, request_id: str = "") -> One:
        """Tell an agent something: into its running turn, or as a new one.

        Args:
            agent: Its name.
            text: The message.
            request_id: Names the request, so that it counts once however often it is sent.
        """
        body = {"text": text, "request_id": request_id}
        return self._one(ApiCall("POST", "/v1/agents/{agent}/say", {"agent": agent}, body=body))

    def pause(self, agent: str, *, reason: str = "", at_turn_end: bool = False) -> One:
        """Hold an agent at its next tool call, or when its turn ends."""
        body = {"reason": reason, "at_turn_end": at_turn_end}
        return self._one(ApiCall("POST", "/v1/agents/{agent}/pause", {"agent": agent}, body=body))

    def resume(self, agent: str) -> One:
        """Let a paused agent go on."""
        return self._one(ApiCall("POST", "/v1/agents/{agent}/resume", {"agent": agent}))

    def stop(self, agent: str, *, reason: str = "", force: bool = False) -> One:
        """Stop an agent: ask it first, or end its processes at once."""
        body = {"reason": reason, "force": force}
        return self._one(ApiCall("POST", "/v1/agents/{agent}/stop", {"agent": agent}, body=body))

    def order(self, control: str, *, repository: str | None = None, label: str | None = None, **more: Any) -> One:
        """Give one control to many agents: to all, or to those of a repository, a label or both.

        Args:
            control: `pause`, `resume`, `stop` or `say`.
            repository: A directory of the repository; None means all.
            label: A label of their tasks; None means with and without one.
            more: Other fields of the request. Examples: `reason`, `text`, `at_turn_end`, `request_id`.
        """
        body = {"repository": repository, "label": label, **more}
        return self._one(ApiCall("POST", "/v1/orders/{control}", {"control": control}, body=body))

    def autopilot(self) -> One:
        """Return the stretch without a person that is under way, or how the last one ended."""
        return self._one(ApiCall("GET", "/v1/autopilot"))

    def begin_autopilot(self, *, until: float | None = None, max_cost_usd: float | None = None, **more: Any) -> One:
        """Leave the agents alone until an end, a budget, or whichever comes first.

        Args:
            until: The end, in Unix seconds.
            max_cost_usd: Most that all agents may cost in it, in US dollars.
            more: Other fields of the request. Examples: `reason`, `request_id`.
        """
        body = {"until": until, "max_cost_usd": max_cost_usd, **more}
        return self._one(ApiCall("POST", "/v1/autopilot", body=body, patient=True))

    def end_autopilot(self) -> One:
        """End the stretch, since a person is there again; agents go on."""
        return self._one(ApiCall("POST", "/v1/autopilot/end"))

    def approvals(self) -> Many:
        """Return the actions of all agents that wait for a person, oldest first."""
        return self._many(ApiCall("GET", "/v1/approvals"))

    def approve(self, agent: str, request_id: str, *, note: str = "") -> One:
        """Let an action that waits run."""
        return self._reply(agent, request_id, note, granted=True)

    def deny(self, agent: str, request_id: str, *, note: str = "") -> One:
        """Turn an action that waits down; the model gets the note."""
        return self._reply(agent, request_id, note, granted=False)

    def checkpoints(self, *, agent: str = "") -> One:
        """Return all checkpoints, oldest first, or one agent's, and the stores that cannot be read."""
        return self._one(ApiCall("GET", "/v1/checkpoints", query={"agent": agent}))

    def make_checkpoint(self, agent: str, name: str, *, note: str = "") -> One:
        """Make a checkpoint of an agent's workspace under a name."""
        route = "/v1/agents/{agent}/checkpoints"
        return self._one(ApiCall("POST", route, {"agent": agent}, body={"name": name, "note": note}, patient=True))

    def plan_rollback(self, checkpoint: str, *, agent: str = "", with_branch: bool = False) -> One:
        """Return what a rollback to a checkpoint would change; nothing is changed.

        Args:
            checkpoint: Its name.
            agent: The agent of the checkpoint, if several have its name.
            with_branch: Whether the branch would move back as well.
        """
        body = {"agent": agent, "with_branch": with_branch}
        return self._one(ApiCall("POST", "/v1/checkpoints/{name}/plan", {"name": checkpoint}, body=body, patient=True))

    def roll_back(
        self,
        agent: str,
        checkpoint: str,
        *,
        files_only: bool = False,
        fresh: bool = False,
        with_branch: bool = False,
        unusual: bool = False,
        text: str = "",
    ) -> One:
        """Bring an agent's files, and unless said otherwise its conversation, back to a checkpoint.

        Args:
            agent: Its name.
            checkpoint: The checkpoint's name.
            files_only: Leave the conversation as it is.
            fresh: Begin a new conversation instead of going on from the checkpoint's position.
            with_branch: Move the branch back as well.
            unusual: Confirm a rollback of unusual size.
            text: Text for the agent beside the fact.
        """
        body = {
            "checkpoint": checkpoint, "files_only": files_only, "fresh": fresh, "with_branch": with_branch, "unusual": unusual,
            "text": text,
        }  # fmt: skip
        return self._one(ApiCall("POST", "/v1/agents/{agent}/rollback", {"agent": agent}, body=body, patient=True))

    def project_checkpoints(self, *, project: str = "") -> Many:
        """Return the checkpoints of whole projects in short, oldest first.

        Args:
            project: A folder of the project; empty means all.
        """
        return self._many(ApiCall("GET", "/v1/project-checkpoints", query={"project": project}))

    def make_project_checkpoint(self, project: str, name: str, *, note: str = "") -> One:
        """Keep all worktrees, branches, task states and agents of a project under one name."""
        body = {"project": project, "name": name, "note": note}
        return self._one(ApiCall("POST", "/v1/project-checkpoints", body=body, patient=True))

    def plan_project_rollback(self, project: str, checkpoint: str, *, with_branches: bool = False) -> One:
        """Return what going back with a whole project would change; nothing is changed."""
        route = "/v1/project-checkpoints/{name}/plan"
        body = {"project": project, "with_branches": with_branches}
        return self._one(ApiCall("POST", route, {"name": checkpoint}, body=body, patient=True))

    def roll_back_project(
        self,
        project: str,
        checkpoint: str,
        *,
        with_branches: bool = False,
        unusual: bool = False,
        request_id: str = "",
    ) -> One:
        """Bring a whole project back: files, task states and queue, agents, and branches if asked.

        Args:
            project: A folder of it.
            checkpoint: The project checkpoint's name.
            with_branches: Move branches back as well.
            unusual: Confirm a rollback of unusual size.
            request_id: Names the request, which is carried out once however often it is sent.
        """
        route = "/v1/project-checkpoints/{name}/rollback"
        body = {
            "project": project, "with_branches": with_branches, "unusual": unusual, "request_id": request_id,
        }  # fmt: skip
        return self._one(ApiCall("POST", route, {"name": checkpoint}, body=body, patient=True))

    def tasks(
        self,
        *,
        states: Sequence[str] = (),
        label: str | None = None,
        repository: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Many:
        """Return the stored tasks, oldest first: those of one of the states, with the label, added after a task."""
        query = {"state": list(states), "label": label, "repository": repository, "after": after, "limit": limit}
        return self._many(ApiCall("GET", "/v1/tasks", query=query))

    def add_tasks(self, tasks: Sequence[Mapping[str, Any]], *, request_id: str = "") -> One:
        """Add tasks to the store: all of them, or none. Agents claim them by and by.

        Args:
            tasks: Each with `prompt` and `repository`, and whatever else a stored task may say.
            request_id: Names the request, so that it adds its tasks once however often it is sent.
        """
        body = {"tasks": list(tasks), "request_id": request_id}
        return self._one(ApiCall("POST", "/v1/tasks", body=body, patient=True))

    def review(self, tool: str, tool_input: Mapping[str, Any], *, cwd: str = "", workspace: str = "") -> One:
        """Return the policy's answer to an action that no agent takes; nothing is noted."""
        body = {"tool": tool, "input": tool_input, "cwd": cwd, "workspace": workspace}
        return self._one(ApiCall("POST", "/v1/review", body=body))

    def events(self, *, after: int = 0, follow: bool = False, agent: str | None = None, since: float = 0.0) -> Lines:
        """Yield the journal's records, oldest first.

        Args:
            after: The number of the last event not wanted; -1 for those to come only.
            follow: Whether to wait for more. If the daemon goes away, `DaemonGoneError` is raised: ask again with the
                `n` of the last record.
            agent: Only this agent's.
            since: Only those from this Unix time on, in seconds.
        """
        query = {"after": after, "follow": follow, "agent": agent, "since": since}
        return self.stream(ApiCall("GET", "/v1/events", query=query))

    def incidents(self, *, follow: bool = False) -> Lines:
        """Yield the incident log's records, oldest first; wait for more if told to follow."""
        return self.stream(ApiCall("GET", "/v1/incidents", query={"follow": follow}))

    def _reply(self, agent: str, request_id: str, note: str, *, granted: bool) -> One:
        names = {"agent": agent, "request_id": request_id}
        body = {"granted": granted, "note": note}
        return self._one(ApiCall("POST", "/v1/agents/{agent}/approvals/{request_id}", names, body=body))

    def _one(self, call: ApiCall) -> One:
        answer: One = self.ask(call)
        return answer

    def _many(self, call: ApiCall) -> Many:
        answer: Many = self.ask(call)
        return answer
