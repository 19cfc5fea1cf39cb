"""The scripts for what happens, run beside all that the agents do, one after the other.

| hook | runs | with |
| --- | --- | --- |
| `pre-start` | before an agent is launched, which waits; may veto | TASK_ID, AGENT, WORKSPACE, REPOSITORY, BRANCH |
| `post-complete` | after an agent has ended, whichever way | and STATUS, DURATION in seconds |
| `pre-merge` | before a merge, which waits for it; may veto | TASK_ID, AGENT, BRANCH, TARGET, REPOSITORY |
| `post-merge` | after a merge | and COMMIT_HASH |
| `on-conflict` | if two sides of a merge disagree | the same as before it, and FILES, LEVEL |
| `on-discovery` | if an agent notes a fact for others | DISCOVERY_ID, SCOPE, CONTENT, and those of the agent |
| `on-pause` | after an agent was paused | REASON, RUNNING_TASKS (ids of all at work), and those of the agent |
| `on-approval` | if an action waits for a person | REQUEST, TOOL, ACTION, WHY, DEADLINE, and those of the agent |
| `on-intervention` | after an intervention | INTERVENTION, KIND, PATTERN, SEVERITY, MESSAGE, EFFECT, DETAILS, agent's |
| `on-error` | after an incident that is an error | ERROR_TYPE, MESSAGE, and, if it is an agent's, those of the agent |

Each fact comes as an environment variable, under its name and with CHAPERON_ and AXIOM_ before it. A hook that vetoes
ends with an exit code other than 0. Any other failure is logged and changes nothing else; `pre-merge` must also end in
time, for a merge can wait. An effect of an intervention's own that was not done is an incident. The configuration's
script runs first, then that of the repository, if a person trusts it.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from checkpoints.workspace import repository
from interventions.decisions import Intervention
from interventions.words import InterventionKind
from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError
from monitors.contract.words import Severity
from supervisor.core.fold.conversation.history import subject_of
from supervisor.core.fold.summary import Summary
from supervisor.protocol.events import (
    AnyEvent,
    ApprovalAsked,
    DiscoveryNoted,
    FaultSeen,
    IncidentOpened,
    InterventionChosen,
    MergeChanged,
    StateChanged,
)
from supervisor.protocol.merges import Merge, MergePhase
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.repository_hooks import RepositoryHooks
from supervisor.runtime.incidents.feed import NoteFault
from supervisor.runtime.log import log
from supervisor.runtime.processes.user_program import ProgramEndedError, ProgramError, Trusted, as_it_is, run_program
from supervisor.runtime.protection.protector import UNPROTECTED, Protector

MOST_WAITING = 100
"""Events whose hooks wait at once; the rest is passed over. Of a storm, a person needs one notice."""


MOST_CHARACTERS = 4_000
"""Of one fact: what a person reads. The kernel takes 128 KiB."""

PREFIXES = ("", "CHAPERON_", "AXIOM_")
"""Put before the name of each fact."""

ROUTINE = frozenset(
    {InterventionKind.SOFT_CORRECTION, InterventionKind.CONTEXT_REINFORCEMENT, InterventionKind.RESOURCE_THROTTLING}
)
"""Incidents that are answers of everyday work and no errors."""

PLACES = frozenset({"WORKSPACE", "REPOSITORY", "BRANCH", "TARGET", "FILES"})
"""Facts that are not masked: a script could not go there."""


class VetoError(ChaperonError):
    """A hook has vetoed what was about to be done."""


class HookRunner:
    """Runs the hooks of one daemon.

    Args:
        programs: Their paths, by hook.
        seconds: How long one may take.
        environment: What each gets beside the facts.
        agents: Tells of all agents.
        repositories: Finds the hooks of repositories; None if none of them run.
        trusted: Tells by which path a program of the configuration is run.
        protector: Masks what they are told.
    """

    def __init__(
        self,
        programs: Mapping[str, str],
        seconds: float,
        environment: Mapping[str, str],
        agents: Callable[[], list[Summary]],
        repositories: RepositoryHooks | None = None,
        trusted: Trusted = as_it_is,
        protector: Protector = UNPROTECTED,
    ) -> None:
        self._protector = protector
        self._programs = programs
        self._seconds = seconds
        self._environment = environment
        self._agents = agents
        self._repositories = repositories
        self._trusted = trusted
        self._put, self._take = anyio.create_memory_object_stream[tuple[str, dict[str, str]]](MOST_WAITING)
        self._passed_over: list[dict[str, str]] = []
        """Facts of the effects that were passed over and are still to be told; at most as many as may wait."""

    async def run(self, fault: NoteFault) -> None:
        """Run what is due, until `close` was called and nothing is left.

        Args:
            fault: Notes an effect that an intervention names and that was not done.
        """
        with self._put, self._take:
            async for hook, facts in self._take:
                failed = await self._run(hook, facts)
                if failed is not None and facts.get("EFFECT"):
                    _tell_of_effect(fault, facts, failed.what)
                passed_over, self._passed_over = self._passed_over, []
                for each in passed_over:
                    _tell_of_effect(fault, each, f"{MOST_WAITING} scripts waited before it.")

    def close(self) -> None:
        """Take nothing more."""
        self._put.close()

    async def before_start(self, agent: str, task: str, workspace: str, project: str = "") -> None:
        """Run `pre-start` and wait for its end.

        Raises:
            VetoError: It ended with an exit code other than 0.
        """
        facts = {"TASK_ID": task, "AGENT": agent, "WORKSPACE": workspace, "REPOSITORY": project}
        veto = await self._run("pre-start", facts)
        if isinstance(veto, ProgramEndedError):
            raise VetoError(f"{veto.what} It vetoes the start; no agent was started.", way_out="Mend what it names.")

    async def before_merge(self, merge: Merge) -> str:
        """Run `pre-merge` and wait for its end; returns why the merge may not be, empty if it may."""
        veto = await self._run("pre-merge", _of_merge(merge))
        return f"vetoed: {veto.what}" if veto is not None else ""

    def saw(self, event: AnyEvent, seq: int = 0) -> None:
        """Have the hooks run that the event asks for; it is in the journal, and need not be folded in yet."""
        for hook, facts in self._due(event, seq):
            try:
                self._put.send_nowait((hook, facts))
            except (anyio.WouldBlock, anyio.ClosedResourceError):
                log.warning("the hook %s was passed over: %d wait, or the daemon ends", hook, MOST_WAITING)
                if facts.get("EFFECT") and len(self._passed_over) < MOST_WAITING:
                    self._passed_over.append(facts)

    def _due(self, event: AnyEvent, seq: int) -> Iterator[tuple[str, dict[str, str]]]:
        match event:
            case StateChanged(after=AgentState.PAUSED, why=why):
                working = [one.task.id for one in self._agents() if not one.state.ended]
                yield "on-pause", {**self._of_agent(event.agent), "REASON": why, "RUNNING_TASKS": " ".join(working)}
            case StateChanged(after=after) if after.ended:
                known = self._known(event.agent)
                took = {} if known is None else {"DURATION": f"{max(0.0, event.at - known.started_at):.0f}"}
                yield "post-complete", {**self._of_agent(event.agent), "STATUS": str(after), **took}
            case ApprovalAsked(action=action):
                until = f"{event.deadline_seconds:g}"
                about = {"TOOL": action.tool, "ACTION": subject_of(action), "WHY": event.why, "DEADLINE": until}
                yield "on-approval", {**self._of_agent(event.agent), "REQUEST": event.request_id, **about}
            case InterventionChosen(intervention=chosen):
                yield "on-intervention", {**self._of_agent(event.agent), **_of_intervention(chosen)}
            case IncidentOpened(incident=incident) | FaultSeen(incident=incident):
                if incident.type not in ROUTINE and incident.severity is not Severity.LOW:
                    about = {"ERROR_TYPE": incident.type, "MESSAGE": incident.summary}
                    yield "on-error", {**self._of_agent(event.agent), **about}
            case MergeChanged(merge=merge) if merge.phase is MergePhase.MERGED:
                yield "post-merge", {**_of_merge(merge), "COMMIT_HASH": merge.merged}
            case MergeChanged(merge=merge) if merge.phase is MergePhase.PARKED and merge.conflicts:
                files = "\n".join(one.path for one in merge.conflicts)
                yield "on-conflict", {**_of_merge(merge), "FILES": files, "LEVEL": str(merge.level)}
            case DiscoveryNoted():
                about = {"DISCOVERY_ID": f"d{seq}", "SCOPE": str(event.scope), "CONTENT": event.text}
                yield "on-discovery", {**self._of_agent(event.agent), **about}
            case _:
                pass

    def _known(self, agent: str) -> Summary | None:
        return next((one for one in self._agents() if one.agent == agent), None) if agent else None

    def _of_agent(self, agent: str) -> dict[str, str]:
        known = self._known(agent)
        if known is None:
            return {}
        return {
            "TASK_ID": known.task.id,
            "AGENT": agent,
            "WORKSPACE": known.workspace,
            "REPOSITORY": known.project,
            "BRANCH": known.branch,
        }

    async def _run(self, hook: str, facts: dict[str, str]) -> ProgramError | None:
        """Run the scripts of a hook; returns the failure of the one that failed, after which none runs.

        No script at all is a failure if an effect was to be done.
        """
        programs = [(self._programs[hook], "")] if hook in self._programs else []
        project = facts.get("REPOSITORY", "")
        if self._repositories is not None and project:
            try:
                found = await anyio.to_thread.run_sync(self._repositories.program, project, hook)
            except OSError as error:
                log.warning("the hook %s of %s could not be made ready: %s", hook, project, error)
                found = ""
            programs += [(found, project)] if found else []
        if not programs:
            wanted = facts.get("EFFECT")
            return ProgramError(f"The configuration names no script hooks.{hook}.") if wanted else None
        if not facts.get("BRANCH") and facts.get("WORKSPACE"):
            facts["BRANCH"] = await anyio.to_thread.run_sync(_branch_of, Path(facts["WORKSPACE"]))
        told = {name: value if name in PLACES else self._protector.text(value) for name, value in facts.items()}
        plain = {f"{prefix}{name}": _plain(value) for name, value in told.items() for prefix in PREFIXES}
        for program, folder in programs:
            where, trusted = (folder, as_it_is) if folder else (str(Path(program).parent), self._trusted)
            environment = {**self._environment, **plain}
            try:
                await run_program(f"hook {hook}", program, where, environment, self._seconds, trusted)
            except ProgramError as error:
                log.warning("%s", error)
                return error
        return None


def _of_merge(merge: Merge) -> dict[str, str]:
    return {
        "TASK_ID": merge.task,
        "AGENT": merge.id,
        "BRANCH": merge.branch,
        "TARGET": merge.target,
        "REPOSITORY": merge.project,
    }


def _of_intervention(chosen: Intervention) -> dict[str, str]:
    details = {name: value for name, value in chosen.details.items() if name != "effect"}
    return {
        "INTERVENTION": chosen.id,
        "KIND": str(chosen.kind),
        "PATTERN": chosen.issue.type,
        "SEVERITY": str(chosen.issue.severity),
        "MESSAGE": chosen.message,
        "EFFECT": str(chosen.details.get("effect", "")),
        "DETAILS": anyjson.dumps(details).decode(),
    }


def _tell_of_effect(fault: NoteFault, facts: Mapping[str, str], why: str) -> None:
    effect, id_ = facts["EFFECT"], facts["INTERVENTION"]
    what = f"The effect {effect!r} of the intervention {id_} was not done. {why}"
    way_out = (
        "Mend the script that hooks.on-intervention names, and do by hand what the intervention's details ask for."
    )
    fault(facts.get("AGENT", ""), "effect_not_done", what, Severity.MEDIUM, way_out)


def _branch_of(workspace: Path) -> str:
    """Return the branch of a worktree; empty if there is none."""
    return repository.look(repository.find(workspace)).branch.removeprefix("refs/heads/")


def _plain(value: str) -> str:
    """A value as a variable can hold it."""
    return value[:MOST_CHARACTERS].replace("\0", "").encode(errors="replace").decode()
