"""The command that submits a task and follows it, with the daemon that is there or one of its own for that long."""

import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from interventions.approval import DEADLINE_PASSED
from monitors.contract.errors import ChaperonError
from supervisor.cli import common
from supervisor.cli.asking import Asker, terminal_to_ask
from supervisor.cli.client import Client, connect
from supervisor.cli.client_errors import DaemonGoneError, NoDaemonError, RefusedError
from supervisor.cli.commands.agents.agents import changes_of
from supervisor.cli.commands.policy.trust import settle
from supervisor.cli.following import RETRY_SECONDS, OutputWatch, events, follow_events
from supervisor.cli.output import agent_words, terminal
from supervisor.cli.output.view import View
from supervisor.cli.output.words import clean
from supervisor.cli.signals import REASONS, Signals
from supervisor.cli.task_options import body_of, task_options
from supervisor.protocol.merges import MergePhase
from supervisor.protocol.tasks import TaskState
from supervisor.protocol.words import AgentState

if TYPE_CHECKING:
    from supervisor.core.fold.summary import Summary

SUBMIT_SECONDS = 3_600.0
"""How long the answer to a submission may take: a new workspace may have a set-up program that fetches and builds."""

GIVE_UP_SECONDS = 1.0
"""How long a submission goes on after a signal: an answer that is about to come names the agent that is to be stopped,
and only setting a workspace up takes longer."""

AWAY_SECONDS = 30.0
"""Time that a run waits for a daemon that went away. A restart takes seconds, and 15 s with a million events in the
journal."""

STARTING_SECONDS = 60.0
"""How long a run waits for a daemon that has just been started, and so has the state directory and no socket yet."""

Wanted = dict[str, Any]
"""The body of a submission."""


@click.command(name="run")
@click.argument("prompt")
@click.option(
    "--repo", type=click.Path(path_type=Path), default=".", help="A directory in a git worktree; here by default."
)
@click.option("--name", help="What the agent is called; a1, a2 and so on by default.")
@task_options
@click.option("--resume-session", metavar="UUID", help="A session of the CLI to continue, in the repository it ran in.")
@click.option(
    "--verify",
    metavar="COMMAND",
    help="A line for the shell that chaperon runs itself once the agent is done, and that must exit with 0. A failure "
    "goes back to the agent with its output, as often as `verify.rounds` says.",
)
@click.option("--keep-open", is_flag=True, help="Let the agent wait to be told more after its turn.")
@click.option(
    "--workspace",
    type=click.Choice(["in-place", "new"]),
    help="Where it works: in the repository's worktree as it is, or in a new one on a branch of its own.",
)
@click.option("--detach", is_flag=True, help="Submit, print the agent's name, and leave; needs a daemon.")
@common.json_option
def run_command(prompt: str, repo: Path, detach: bool, as_json: bool, **about: Any) -> int:
    """Have PROMPT done in a repository by a new agent, and follow it; `-` reads the prompt from standard input.

    If no daemon runs, it serves itself for as long as the run lasts. Ctrl+C stops the agent, step by step; a second one
    ends all its processes at once. Actions that wait for a person are shown here as questions, if this is a terminal.
    The exit code is 0 if the agent ended well, and, with --verify, its work passed; it is 1 if not, or if an action was
    not run for lack of a reply in time.
    """
    if prompt == "-":
        prompt = sys.stdin.buffer.read().decode(errors="replace")
    wanted = {
        "prompt": common.whole_text(prompt),
        "repository": common.sendable(repo.absolute()),
        **body_of(about, "own_limits"),
    }
    try:
        daemon = common.daemon()
    except NoDaemonError:
        if detach:
            raise
        return _by_ourselves(wanted, as_json)
    terminal.begin("submitting the task")
    common.tell_not_in_force(daemon)
    if detach:
        settle(daemon, wanted["repository"])
        summary = daemon.post("/v1/agents", wanted, seconds=SUBMIT_SECONDS)
        _tell_where(wanted, summary)
        terminal.echo(summary["agent"])
        return 0
    with Signals() as signals:
        return _attended(daemon, wanted, as_json, signals)


class _GivenUpError(Exception):
    """A submission was taken back by a signal."""


class _LeftError(Exception):
    """A run whose daemon is away was left by a signal."""


def _by_ourselves(wanted: Wanted, as_json: bool) -> int:
    """Serve for as long as the run lasts, and leave no agent of it behind, however it ends."""
    # What serves takes half a second to import, which nobody who has a daemon should pay.
    import anyio
    import anyio.to_thread
    from pydantic import ValidationError

    from supervisor.runtime.daemon.submission import Submission
    from supervisor.runtime.journal.lock import StateDirectoryTakenError
    from supervisor.runtime.log import start_log
    from supervisor.runtime.service import Setup, run_daemon

    with suppress(ValidationError):  # which the daemon tells as it does for everybody
        task = Submission.model_validate(wanted)
        task.check_words()
        task.check_directory()
    loaded = common.configuration()
    terminal.echo(
        "chaperon: No daemon is running, so this command is one for as long as the run lasts. Starting.", err=True
    )
    start_log("warn")
    begun: list[str] = []
    taken: list[StateDirectoryTakenError] = []

    def attend(signals: Signals) -> int:
        return _attended(connect(common.here().socket), wanted, as_json, signals, begun.append, patience=0.0)

    async def serve() -> int:
        try:
            async with run_daemon(Setup(loaded.config, common.here(), claims=False)) as daemon:
                _tell_of_earlier(daemon.board.at_work())
                try:
                    with Signals() as signals:
                        return await anyio.to_thread.run_sync(attend, signals)
                finally:
                    for agent in begun:
                        await daemon.put_down(agent, "the run that it belonged to has ended")
        except StateDirectoryTakenError as error:
            taken.append(error)
            return common.FAILED

    code = anyio.run(serve)
    if not taken:
        return code
    daemon = _starting(taken[0])
    with Signals() as signals:
        return _attended(daemon, wanted, as_json, signals)


def _tell_of_earlier(alive: Iterable["Summary"]) -> None:
    """Name the agents that an earlier daemon, or a run that was killed, left alive: they go on beside this run."""
    for one in alive:
        terminal.echo(
            f"chaperon: Agent {one.agent} of an earlier run is still alive ({one.state}, in {one.workspace}). It goes on while "
            f"this run lasts, and then waits for the next daemon. What it does: chaperon tail -f --agent {one.agent}. "
            f"To end it, from another terminal: chaperon stop {one.agent}",
            err=True,
        )


def _starting(taken: ChaperonError) -> Client:
    """Wait for the daemon that has the state directory and no socket yet.

    Raises:
        ChaperonError: `taken`: it never listened.
    """
    terminal.echo("chaperon: A daemon is being started here already. Waiting until it listens.", err=True)
    for _ in range(round(STARTING_SECONDS / RETRY_SECONDS)):
        with suppress(NoDaemonError):
            return common.daemon()
        time.sleep(RETRY_SECONDS)
    raise taken


def _attended(
    daemon: Client,
    wanted: Wanted,
    as_json: bool,
    signals: Signals,
    begun: Callable[[str], object] = lambda _agent: None,
    patience: float | None = None,
) -> int:
    """Submit the task and follow it; signals stop the agent instead of ending us."""

    def give_up(connection: socket.socket, seconds: float | None) -> None:
        if signals.wait(connection, seconds):
            with suppress(TimeoutError):  # a second signal is not waited for
                if not signals.wait(connection, GIVE_UP_SECONDS):
                    return
            raise _GivenUpError

    if not settle(daemon, wanted["repository"], signals.wait):
        return common.INTERRUPTED
    try:
        summary = daemon.post("/v1/agents", wanted, seconds=SUBMIT_SECONDS, wait=give_up)
    except _GivenUpError:  # the daemon knows by our hanging up
        terminal.echo(
            "chaperon: given up before an agent was started. What was set up for it is ended and removed.", err=True
        )
        return common.INTERRUPTED
    begun(summary["agent"])
    _tell_where(wanted, summary)
    patience = AWAY_SECONDS if patience is None else patience
    run: _Run | None = _Run(daemon, summary, as_json, signals, patience)
    while run is not None:
        code = run.follow()
        if (again := run.goes_on_in) is not None:
            begun(again["agent"])
            terminal.echo(f"chaperon: {run.why_it_goes_on}", err=True)
        run = _Run(daemon, again, as_json, signals, patience) if again else None
    return code


def _tell_where(wanted: Wanted, summary: Mapping[str, Any]) -> None:
    """Say that an agent works in all of a worktree of which a folder was named."""
    named, workspace = Path(wanted["repository"]).resolve(), Path(summary["workspace"]).resolve()
    if named != workspace and named.is_relative_to(workspace):
        terminal.echo(
            f"chaperon: The agent works in {workspace}, the whole worktree that {named} is in. What it should keep to can be said "
            f"with --expect-path '{named.relative_to(workspace)}/**'.",
            err=True,
        )


class _Run:
    """A run that is followed to its end.

    Args:
        daemon: Which watches over it.
        summary: What the daemon answered to the submission.
        as_json: Whether to print the journal's lines.
        signals: What stops the agent.
        patience: For how many seconds the daemon may be away.
    """

    def __init__(
        self, daemon: Client, summary: Mapping[str, Any], as_json: bool, signals: Signals, patience: float
    ) -> None:
        self._daemon, self._as_json, self._signals, self._patience = daemon, as_json, signals, patience
        self._agent = str(summary["agent"])
        self._first = int(summary["first_event"])
        self._last = self._first - 1
        self._task = str(summary["stored_task"])
        """The stored task whose work is checked; empty if it is not."""
        self._checked = not self._task
        self._workspace = str(summary["workspace"])
        self._resolving = ""
        """Why the merge of the work was given to another agent; empty while it is not."""
        self.goes_on_in: Mapping[str, Any] | None = None
        """The agent to which the work went back, as its check failed or it could not be merged."""
        self._stopping = False
        self._ended: AgentState | None = None
        self._closing = False
        """Whether a workspace that was made for the agent is still to be closed."""
        self._expired = 0
        """Number of actions that were denied for lack of a reply in time."""
        self._asker = Asker(self._answer, None if as_json else terminal_to_ask())
        self._view = View(width=terminal.width())
        self._output = OutputWatch().pipe

    def follow(self) -> int:
        """Print what the agent does until it has ended; the exit code.

        Raises:
            BrokenPipeError: Nobody reads what is printed any more; noticed also while nothing is to be printed.
        """
        try:
            self._follow()
            if self._task and self._ended is AgentState.DONE:
                self._see_check()
                if self._checked:
                    self._follow()  # its workspace is closed only now
            while self._resolving and self.goes_on_in is None:
                self._see_resolver()
                if not self._resolving:
                    self._follow()
        except (DaemonGoneError, _LeftError):
            terminal.echo(
                f"chaperon: The daemon ended. Agent {self._agent} lives on and waits for it at its next tool call. Start it again "
                f"(chaperon serve, or its service), and see the agent with: "
                f"chaperon tail -f --agent {self._agent} --after {self._last}",
                err=True,
            )
            return common.NO_DAEMON
        with suppress(DaemonGoneError):  # what came behind the end is the daemon's own afterwork
            for one in events(self._daemon, self._wait, agent=self._agent, after=self._last):
                self._print(one.line, one.record)
            if not self._as_json and not self.goes_on_in:
                self._tell_end()
        if self._expired:
            actions = "1 action was" if self._expired == 1 else f"{self._expired:,} actions were"
            terminal.echo(
                f"chaperon: {actions} not run, for nobody answered in time. What they were: chaperon show {self._agent}",
                err=True,
            )
        return 0 if self._ended is AgentState.DONE and self._checked and not self._expired else common.FAILED

    def _follow(self) -> None:
        if self._is_through():
            return
        found = follow_events(
            self._daemon, self._last, wait=self._wait, pause=self._pause, patience=self._patience, agent=self._agent
        )
        for line, record in found:
            self._last = record["n"]
            self._print(line, record)
            if record["kind"] == "task_submitted":
                self._closing = bool(record["branch"])
            if record["kind"] == "workspace_closed":
                self._closing = False
            if record["kind"] == "merge_changed" and not self._task:
                merge = record["merge"]
                self._resolving = merge["why"] if merge["phase"] == MergePhase.RESOLVING else ""
            if record["kind"] == "state_changed" and AgentState(record["after"]).ended:
                self._ended = AgentState(record["after"])
            if self._is_through():
                return

    def _is_through(self) -> bool:
        """Whether nothing more is to be waited for: a workspace is closed once the work in it was checked and merged.

        If another agent goes on in it, it is closed at that one's end.
        """
        return self._ended is not None and (bool(self._resolving) or not (self._closing and self._checked))

    def _see_resolver(self) -> None:
        """Look which agent the merge was given to; if none has it any more, what follows is in the journal again."""
        of_mine = [one for one in self._asked("/v1/merges") if one["id"] == self._agent]
        agents = self._asked("/v1/agents", recent="true")  # after the merge, which an agent leads to other phases
        there = (one for one in agents if one["workspace"] == self._workspace and one["first_event"] > self._first)
        self.goes_on_in = next(there, None)
        if self.goes_on_in is None and not any(one["phase"] == MergePhase.RESOLVING for one in of_mine):
            self._resolving = ""
        elif self.goes_on_in is None:
            time.sleep(RETRY_SECONDS)  # a signal that comes meanwhile is for the agent that goes on

    @property
    def why_it_goes_on(self) -> str:
        """Says which agent has the work now, and why."""
        assert self.goes_on_in is not None
        why = clean(self._resolving, 500) or f"the check of the work of {self._agent} failed"
        return f"Agent {self.goes_on_in['agent']} goes on in {self._workspace}: {why}"

    def _asked(self, path: str, **query: str) -> Any:
        """Ask the daemon, for as long as it may be away.

        Raises:
            DaemonGoneError: It did not come back in time.
        """
        away = 0.0
        while True:
            try:
                return self._daemon.get(path, **query)
            except (DaemonGoneError, NoDaemonError) as error:
                away += RETRY_SECONDS
                if away > self._patience:
                    raise DaemonGoneError(str(error)) from error
            self._pause(RETRY_SECONDS)

    def _see_check(self) -> None:
        """Wait until the work was checked: it passed, or went back to an agent, or the task is over without.

        A signal gives the check up.
        """
        while True:
            task = self._asked(f"/v1/tasks/{self._task}")
            if TaskState(task["state"]).over:
                self._checked = task["state"] == TaskState.DONE
                if not self._checked:
                    terminal.echo(f"chaperon: Task {self._task} is {task['state']}: {task['why']}", err=True)
                return
            if (agent := task["runs"][-1]["agent"]) != self._agent:
                with suppress(RefusedError):  # it is being started
                    self.goes_on_in = self._asked(common.agent_path(agent))
                    return
            with suppress(_LeftError):
                self._pause(RETRY_SECONDS)
            while self._signals.pressed:
                reason = REASONS[self._signals.pressed.pop(0)]
                terminal.echo(f"chaperon: giving up the check of agent {self._agent}'s work.", err=True)
                with suppress(RefusedError):  # it was over
                    self._daemon.post(f"/v1/tasks/{self._task}/cancel", {"reason": reason})

    def _print(self, line: bytes, record: Mapping[str, Any]) -> None:
        self._expired += record["kind"] == "review_made" and record["review"]["rule"] == DEADLINE_PASSED
        if self._as_json:
            terminal.echo_line(line)
            return
        texts = self._view.lines(record)
        if texts:
            self._asker.make_way()
        for text in texts:
            terminal.echo(text)
        self._asker.saw(record, printed=bool(texts))

    def _tell_end(self) -> None:
        """Say how it ended, and what can be done about it."""
        for line in self._view.rest():
            terminal.echo(line)
        known = self._daemon.get(common.agent_path(self._agent))
        changes = changes_of(self._daemon, self._agent)
        changed = changes is None or any(changes["counts"].values())
        told = agent_words.ending(known, changes)
        terminal.echo(f"{told}.")
        if self._patience:  # a daemon is there to be asked afterwards
            for line in agent_words.summing_up(known, self._start(), changed=changed):
                terminal.echo(line)

    def _start(self) -> str:
        """Return the checkpoint of the agent's start; empty if there is none."""
        with suppress(RefusedError):
            found = self._daemon.get(f"{common.agent_path(self._agent)}/diff", patch="false")
            return str(found["since"])
        return ""

    def _wait(self, connection: socket.socket, seconds: float | None) -> None:
        """Wait for what comes; the first signal stops the agent in order, each further one at once."""
        self._deal_with_signals()
        while (came := self._signals.first(connection, self._asker.fd, seconds, self._output)) != "connection":
            if came == "signal":
                self._deal_with_signals()
            else:
                self._asker.read()

    def _deal_with_signals(self) -> None:
        while self._signals.pressed:
            self._stop(self._signals.pressed.pop(0))

    def _answer(self, request: str, granted: bool, note: str) -> None:
        path = f"{common.agent_path(self._agent)}/approvals/{common.path_part(request, 'chaperon approvals')}"
        try:
            self._daemon.post(path, {"granted": granted, "note": common.whole_text(note)})
        except (RefusedError, DaemonGoneError) as error:
            terminal.echo(f"chaperon: {error}", err=True)

    def _pause(self, seconds: float) -> None:
        """Wait for a daemon that is away; a signal leaves the run to it."""
        with suppress(TimeoutError):
            if self._signals.pressed or self._signals.first(None, None, seconds, self._output) == "signal":
                raise _LeftError

    def _stop(self, number: signal.Signals) -> None:
        force, self._stopping = self._stopping, True
        how = "at once" if force else "in order; Ctrl+C again ends it at once"
        terminal.echo(f"chaperon: stopping agent {self._agent} {how}.", err=True)
        reason = REASONS[number]
        try:
            self._daemon.post(f"{common.agent_path(self._agent)}/stop", {"force": force, "reason": reason})
        except (RefusedError, DaemonGoneError) as error:
            terminal.echo(f"chaperon: {error}", err=True)
