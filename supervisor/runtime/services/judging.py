"""Questions to a model whether an agent is stuck, if the configuration enables them: one at a time, in all.

Each question is a run of the CLI of its own, without tools, sessions or settings of the user, in an empty directory,
with a deadline. Its answer is an event of the agent, with its cost. A question that fails is one as well, so that the
budget holds in any case.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import orjson

from host.children import ChildCommand, run_child_async
from monitors.contract.errors import ChaperonError
from monitors.patterns.model_judge import JUDGED_STUCK, JudgeSettings, answer_of, is_due, issue_of, question
from supervisor.config.environment import GATE_ARGUMENTS, agent_environment
from supervisor.config.model import Agent
from supervisor.core.board import Board
from supervisor.core.session import Session
from supervisor.protocol.events import AnyEvent, JudgeAnswered
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.log import log
from supervisor.runtime.processes.find_cli import find_cli

LOOK_SECONDS = 5.0
"""Between two looks for an agent to ask about; a step of an agent takes about as long."""

ALONE = (
    "--print", "--output-format", "json", "--tools", "", "--no-session-persistence", "--setting-sources", "",
    "--strict-mcp-config", "--disable-slash-commands",
)  # fmt: skip
"""Arguments that make the CLI answer once and do nothing else."""

MOST_OUTPUT = 1_048_576
"""Bytes of its output that are read. A result with its answer takes 2 to 5 kB."""


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """The result of a question."""

    text: str = ""
    cost_usd: float = 0.0
    error: str = ""
    """Why there is no text; empty if there is."""


Ask = Callable[[str], Awaitable[JudgeReply]]


class Judging:
    """Looks for agents for which a question is due, and puts it.

    Args:
        board: The agents that are judged.
        journal: Says how far events are, and whether it takes more.
        happened: Takes in what a model answered.
        clock: Tells the time that events carry.
        settings: When a question is due.
        ask: Puts a question to a model.
    """

    def __init__(
        self,
        board: Board,
        journal: Journal,
        happened: Callable[[AnyEvent], object],
        clock: Clock,
        settings: JudgeSettings,
        ask: Ask,
    ) -> None:
        self._board = board
        self._journal = journal
        self._happened = happened
        self._clock = clock
        self._settings = settings
        self._ask = ask
        self._judged_until: dict[str, int] = {}

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await anyio.sleep(LOOK_SECONDS)
            if self._journal.accepting:
                await self.look()

    async def look(self) -> None:
        """Ask about each agent that a question is due about."""
        for session in self._board.live():
            summary = session.summary
            steps = sum(summary.reviews.values())
            if session.state is AgentState.RUNNING and is_due(self._settings, steps, summary.asked):
                await self._judge(session, steps)

    async def _judge(self, session: Session, steps: int) -> None:
        agent, now = session.summary.agent, self._journal.last
        began = self._judged_until.get(agent, session.summary.first_event)
        reply = await self._ask(question(session.summary.task.prompt, session.summary.recent, self._settings))
        if session.state.ended:
            return
        answer = answer_of(reply.text)
        problem = reply.error or ("" if answer else f"the answer is none: {reply.text[:200]!r}")
        is_open = JUDGED_STUCK in session.open_issues
        issue = issue_of(answer, began, now, self._settings, is_open=is_open) if answer else None
        self._judged_until[agent] = now
        if problem:
            log.warning("no judgement of agent %s: %s", agent, problem)
        self._happened(
            JudgeAnswered(
                **self._clock.stamp(agent),
                step=steps,
                issue=issue,
                stuck=answer.stuck if answer else None,
                confidence=answer.confidence if answer else 0.0,
                sentence=answer.sentence if answer else "",
                cost_usd=reply.cost_usd,
                problem=problem,
            )
        )


class CliJudge:
    """Puts questions through the CLI.

    Args:
        settings: The model, and its time limit.
        agent: How the CLI is found and started.
        environ: The daemon's environment.
        directory: An empty directory to run in; made if it is missing.
    """

    def __init__(self, settings: JudgeSettings, agent: Agent, environ: Mapping[str, str], directory: Path) -> None:
        self._settings = settings
        self._agent = agent
        self._environ = environ
        self._directory = directory

    async def __call__(self, asked: str) -> JudgeReply:
        """Put a question; any failure is in the reply."""
        seconds = self._settings.timeout_seconds
        try:
            argv = await anyio.to_thread.run_sync(self._prepare)
            done = await run_child_async(
                ChildCommand(
                    argv=argv,
                    stdin=asked.encode(errors="replace"),
                    errors="nowhere",
                    folder=self._directory,
                    environment=agent_environment(self._environ, self._agent.environment),
                    seconds=seconds,
                    output_bytes=MOST_OUTPUT,
                )
            )
        except (ChaperonError, OSError) as error:
            return JudgeReply(error=f"the CLI could not be run: {error}")
        if done.code is None:
            return JudgeReply(error=f"there was no answer within {seconds:g} s")
        if done.flooded:
            return JudgeReply(error=f"the CLI printed more than {MOST_OUTPUT} bytes: {done.output[:200]!r}")
        return _read(done.output)

    def _prepare(self) -> list[str]:
        """The command; the directory is made. Blocks."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        cli = find_cli(self._agent.command, self._environ)
        model = [f"--model={self._settings.model}"] if self._settings.model else []
        return [*self._agent.launcher, str(cli.path), *ALONE, *model, *GATE_ARGUMENTS]


def _read(printed: bytes) -> JudgeReply:
    """Return the CLI's output, as `--output-format json` has it."""
    try:
        result = orjson.loads(printed)
    except orjson.JSONDecodeError:
        return JudgeReply(error=f"the CLI printed no result: {printed[:200]!r}")
    if not isinstance(result, dict):
        return JudgeReply(error=f"the CLI printed no result: {printed[:200]!r}")
    cost = result.get("total_cost_usd")
    spent = float(cost) if isinstance(cost, int | float) else 0.0
    text = str(result.get("result") or "")
    return (
        JudgeReply(cost_usd=spent, error=f"the CLI says: {text[:200]}")
        if result.get("is_error")
        else JudgeReply(text, spent)
    )
