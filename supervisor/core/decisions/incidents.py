"""From what happened to the incident that tells a person of it."""

import re
from shlex import quote
from typing import Any

from interventions import stop_report
from interventions.contract import PluginFailure
from interventions.decisions import Incident, Intervention
from interventions.words import InterventionKind
from monitors.contract.wording import counted
from monitors.contract.words import Severity
from monitors.guarded import DetectorFailure
from supervisor.core.bypass import Bypass
from supervisor.core.fold.conversation.history import subject_of
from supervisor.core.fold.memory import Memory
from supervisor.core.fold.pending_incidents import IncidentCause, ScriptChanged, SettingsChanged
from supervisor.core.timers import STANDSTILL
from supervisor.protocol.claude.messages import ControlResponse
from supervisor.protocol.claude.retrying import Retrying
from supervisor.protocol.events import (
    AgentExited,
    AgentVanished,
    FrameRejected,
    InterventionChosen,
    LaunchFailed,
    PersonNeeded,
    RecoveryChosen,
    RestoreFailed,
    ReviewMade,
    StopRequested,
    TimerFired,
    TreeEnded,
)

NO_LOGIN = "Please run /login"
"""The CLI's answer if it has no account (2.1.329)."""

REFUSED_LOGIN = "Failed to authenticate."
"""How the CLI's answer begins if the API refuses its key or login (2.1.329, statuses 401 and 403)."""

_NOT_OF_AN_ID = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters that an incident's id, which may name a file, cannot have; a plugin may have any name."""

API_OUTAGE = (
    "Where it comes back, the run goes on by itself. Otherwise look at the network, the proxy and ANTHROPIC_BASE_URL; "
    "to give it up: chaperon stop {agent}"
)

SIGN_IN = "Start the CLI by hand once and say /login (chaperon doctor names it), or set ANTHROPIC_API_KEY for chaperon."


def describe(cause: IncidentCause, memory: Memory, at: float, seq: int) -> tuple[Incident, dict[str, Any] | None]:
    """Return the incident and, if there is more to report, its full report."""
    agent, workspace = memory.submitted.agent, memory.submitted.workspace
    at = getattr(cause, "at", at)
    resume = "chaperon doctor says whether the CLI works here."
    if memory.processes.greeted:
        session = memory.summary.session_id
        # The session of an attached CLI is opened by whoever opened it before; any other would be watched over no more.
        command = (
            f"claude --resume {session} in {workspace}"
            if memory.submitted.origin
            else f'chaperon run "Go on." --resume-session {session} --repo {quote(workspace)}'
        )
        resume = f"To go on in its session: {command}."

    def incident(type_: str, severity: Severity, summary: str, way_out: str) -> tuple[Incident, None]:
        id_ = _NOT_OF_AN_ID.sub("_", f"{agent}-{seq}-{type_}")[:128]
        return Incident(id_, at, agent, type_, severity, summary, way_out, seq=seq), None

    match cause:
        case InterventionChosen():
            return _intervention(cause, cause.intervention, memory, seq)
        case PersonNeeded(need=need):
            return incident(need.reason, need.issue.severity, need.sentence, need.way_out)
        case RecoveryChosen(recovery=recovery):
            sooner = f"; to go on at once: chaperon resume {agent}" if recovery.wait_seconds else ""
            return incident(
                recovery.cause, Severity.MEDIUM, recovery.why, f"To give it up: chaperon stop {agent}{sooner}"
            )
        case PluginFailure():
            what = f"The plugin {cause.plugin} failed and is not asked again for agent {agent}: {cause.what}"
            return incident(
                f"plugin_failed-{cause.plugin}", Severity.MEDIUM, what, "Mend it, or take it out of plugins."
            )
        case LaunchFailed():
            return incident("launch_failed", Severity.HIGH, cause.error, "chaperon doctor says what works here.")
        case AgentVanished():
            what = f"Agent {agent} is gone without an exit record: {cause.reason}"
            return incident("agent_lost", Severity.HIGH, what, resume)
        case AgentExited() if memory.summary.failed:
            what = f"The turn of agent {agent} ended in an error: {memory.summary.result[:500]}"
            if NO_LOGIN in memory.summary.result or memory.summary.result.startswith(REFUSED_LOGIN):
                return incident("sign_in_failed", Severity.HIGH, what, SIGN_IN)
            return incident("turn_failed", Severity.MEDIUM, what, resume)
        case AgentExited():
            how = f"exit code {cause.code}" if cause.signal is None else f"signal {cause.signal}"
            tail = cause.stderr_tail.strip()[-500:]
            what = f"The CLI of agent {agent} ended with {how} before its task did."
            what += (
                f" It was started again {counted(memory.retries.crashes, 'time')}." if memory.retries.crashes else ""
            )
            what += f" It said: {tail}" if tail else ""
            return incident("agent_failed", Severity.HIGH, what, _mend_of(tail) or resume)
        case Retrying(refused=True):
            what = f"Agent {agent} cannot sign in: {cause.sentence}."
            return incident("sign_in_failed", Severity.HIGH, what, f"{SIGN_IN} To give it up: chaperon stop {agent}")
        case Retrying():
            what = f"Agent {agent} waits for the API: {cause.sentence}."
            return incident("api_outage", Severity.MEDIUM, what, API_OUTAGE.format(agent=agent))
        case ControlResponse():
            what = f"The CLI refused the hooks of agent {agent} ({cause.error[:300]}), so that no call could be reviewed. It was ended."
            return incident(
                "hooks_refused", Severity.CRITICAL, what, "chaperon doctor says whether this CLI is known to work."
            )
        case DetectorFailure():
            what = f"Detector {cause.detector} failed and was switched off for the rest of this run: {cause.sentence}"
            return incident(
                f"detector_failed-{cause.detector}", Severity.MEDIUM, what, "Please report it, or the plugin's author."
            )
        case FrameRejected(problem=problem):
            what = f"A line of agent {agent} could not be read: {problem} More of them in this turn are not reported."
            return incident(
                "frame_rejected", Severity.MEDIUM, what, "chaperon doctor says whether this CLI is known to work."
            )
        case Bypass():
            what = f"{cause.sentence} Agent {agent} was not stopped for it, since interventions are off. Further ones are not reported."
            return incident(cause.how, Severity.CRITICAL, what, f"chaperon stop --force {agent}")
        case ScriptChanged(tool=tool, tool_use_id=id_, path=path):
            what = f"{path} is not as it was when the {tool} call {id_} of agent {agent} was reviewed, which ran it. What ran may not be what was reviewed: a program may have changed it, or a person, or the call itself."
            return incident(
                "script_changed", Severity.MEDIUM, what, "Look at the file, and at what ran beside the call."
            )
        case SettingsChanged(source=source, path=path):
            what = f"{path or source} changed while agent {agent} runs. It was kept from counting for this CLI: a program may have written it, or a person."
            way_out = f"Look at it before another agent is started there; what it says counts from the next start on ({workspace})."
            return incident("settings_changed", Severity.MEDIUM, what, way_out)
        case ReviewMade(action=action):
            what = f"Nobody answered in time whether agent {agent} may run {action.tool} `{subject_of(action)}`, so it was not run. More of them in this turn are not reported."
            way_out = f"chaperon show {agent} says how many; approval.deadline_seconds is how long an action waits."
            return incident("approval_expired", Severity.HIGH, what, way_out)
        case StopRequested():
            what = f"Agent {agent} was stopped: {cause.reason}."
            way_out = (
                f"Give more to its next attempt (resources.{cause.limit}, or the option of run or task edit). {resume}"
            )
            return incident("limit_reached", Severity.HIGH, what, way_out)
        case RestoreFailed():
            what = f"Agent {agent} could not go back to {cause.checkpoint}: {cause.error}"
            return incident("rollback_failed", Severity.HIGH, what, f"chaperon show {agent}")
        case TimerFired(name=name) if name == STANDSTILL:
            what = f"Agent {agent} goes back to a checkpoint. The files are back, but its processes have not ended in time."
            return incident("rollback_held_up", Severity.HIGH, what, f"chaperon stop --force {agent}")
        case TimerFired():
            what = f"The CLI of agent {agent} did not answer its first line in time; its processes were ended."
            return incident("agent_silent", Severity.HIGH, what, "chaperon doctor says whether the CLI works here.")
        case TreeEnded():
            what = f"{counted(cause.left, 'process', 'processes')} of agent {agent} could not be ended: the kernel holds what is left."
            return incident(
                "processes_left",
                Severity.HIGH,
                what,
                "They end when what they wait for does; see ps -eo pid,stat,wchan.",
            )


CLI_REFUSALS = {
    "cannot be used with root/sudo privileges": "The CLI takes permission mode bypassPermissions as root only if it is "
    "told that the machine may be lost. Take another mode (agent.permission_mode, --permission-mode), start chaperon as "
    'another user, or, in a container or a sandbox, set agent.environment: {IS_SANDBOX: "1"}.',
}
"""Words with which the CLI refuses to start, and the remedy. Measured with version 2.1.329."""


def _mend_of(tail: str) -> str:
    return next((mend for words, mend in CLI_REFUSALS.items() if words in tail), "")


_ANSWERED = {
    InterventionKind.SOFT_CORRECTION: "The model was told so",
    InterventionKind.CONTEXT_REINFORCEMENT: "The model was told so, with the task said again",
    InterventionKind.RESOURCE_THROTTLING: "Its limits were lowered",
    InterventionKind.CHECKPOINT_ROLLBACK: "It goes back to a checkpoint",
    InterventionKind.EMERGENCY_STOP: "It was stopped at once",
}
"""The response, by the kind of intervention."""


def _intervention(
    cause: InterventionChosen, chosen: Intervention, memory: Memory, seq: int
) -> tuple[Incident, dict[str, Any] | None]:
    stop = chosen.kind is InterventionKind.EMERGENCY_STOP
    issue, id_ = chosen.issue, f"{chosen.id}-{chosen.kind}"
    incident = Incident(
        id=id_,
        at=cause.at,
        agent=cause.agent,
        type=chosen.kind,
        severity=issue.severity,
        summary=f"{issue.sentence} {_ANSWERED[chosen.kind]}: {chosen.reason}.",
        way_out=f"chaperon recover {id_}" if stop else _way_out(cause.agent, chosen),
        issue=issue.type,
        seq=seq,
        report=f"incidents/{id_}.json" if stop else "",
    )
    return incident, stop_report.report(_stop_facts(id_, cause, memory)) if stop else None


def _way_out(agent: str, chosen: Intervention) -> str:
    """Return the remedy for a person."""
    if chosen.kind is InterventionKind.CHECKPOINT_ROLLBACK:
        return f"To undo it: chaperon rollback before-{chosen.id}"
    return f"chaperon show {agent}"


def _stop_facts(id_: str, cause: InterventionChosen, memory: Memory) -> stop_report.StopFacts:
    summary = memory.summary
    counts = {"reviews": summary.reviews, "issues": summary.issues, "interventions": summary.interventions}
    return stop_report.StopFacts(
        incident=id_,
        intervention=cause.intervention,
        task=memory.task,
        agent=cause.agent,
        workspace=memory.submitted.workspace,
        session_id=summary.session_id,
        started_at=summary.started_at,
        at=cause.at,
        history=memory.calls.steps,
        timeline=memory.controller.timeline,
        issues=tuple(memory.issues.open.values()),
        usage=memory.controller.usage(cause.mono),
        counts=counts,
        journal_range=(memory.first_seq, memory.last_seq),
    )
