"""The turns of the model: messages that it has not taken up, work in the background, the turn that ended."""

from supervisor.protocol.claude import messages
from supervisor.protocol.words import AgentState

AGENT_WORK = frozenset({"local_agent", "local_workflow"})
"""Background work of the CLI that wakes the model when it ends, so that its input must stay open."""

WORK_ENDED = frozenset({"completed", "failed", "stopped", "killed"})


class Turns:
    """The turns of one agent, as a fold over what was said to it and what it printed."""

    def __init__(self) -> None:
        self.ended: messages.Result | None = None
        """The result of the last turn, until another begins or something follows from it."""
        self.said: dict[str, str] = {}
        """Messages of people that no turn has taken, by the message's id."""
        self.background: set[str] = set()
        """Work of the CLI that will start another turn when it ends."""
        self.commands: frozenset[str] = frozenset()
        """Background commands that run. Their end wakes the model as well, and its calls are refused if the input is
        closed by then (seen with CLI 2.1.329). Servers never end, so the wait for them is limited."""
        self.begun = False
        """Whether one began that the agent's state does not show yet."""
        self.idle = False
        """Whether nothing is under way: its last turn ended, its consequences were decided, and none began since."""
        self._untaken: dict[str, str] = {}
        self._settled = self._woken = self._forsaken = False

    @property
    def untaken(self) -> tuple[str, ...]:
        """The ids of the messages that no turn has taken, oldest first."""
        return tuple(self._untaken)

    @property
    def owed(self) -> bool:
        """Whether a message that was not taken up, or work that has just ended, is about to start another turn."""
        return self.ended is not None and not self._settled and (bool(self._untaken) or self._woken)

    @property
    def commands_awaited(self) -> bool:
        """Whether the turn ended with commands in the background that may end soon."""
        return self.ended is not None and not self._forsaken and bool(self.commands)

    @property
    def finished(self) -> bool:
        """Whether the last turn has ended, and nothing that is known of starts another."""
        if self.idle:
            return not self._untaken
        if self.ended is None or self.ended.queued_turn_count:
            return False
        return not (self.background or self.owed or self.commands_awaited)

    def sent(self, id_: str, text: str, *, by_a_person: bool = False) -> None:
        """A message is on its way to the model."""
        self._untaken[id_] = text
        self._settled = False
        if by_a_person:
            self.said[id_] = text

    def taken(self, id_: str) -> None:
        """The CLI took a message up: into the running turn, or to begin the next one."""
        self.ended, self.idle = None, False
        self._untaken.pop(id_, None)
        self.said.pop(id_, None)

    def prompted(self, text: str) -> None:
        """Note a prompt that the CLI shows the model. CLIs that report no id of a message identify it by its text."""
        first = next((id_ for id_, untaken in self._untaken.items() if untaken == text), "")
        self.taken(first)

    def began(self, state: AgentState) -> None:
        """A turn begins."""
        self.ended, self.idle = None, False
        self.begun = state in (AgentState.STARTING, AgentState.IDLE)
        self._settled = self._woken = self._forsaken = False

    def entered(self, state: AgentState) -> None:
        """The agent took a step: what followed from a turn that began, or from the end of the last one, was decided."""
        self.begun = False
        if state in (AgentState.IDLE, AgentState.FINISHING):
            self.ended, self.idle = None, True

    def work(self, task: messages.BackgroundTask) -> None:
        """Background work began or ended."""
        if task.status == "started" and task.task_type in AGENT_WORK:
            self.background.add(task.task_id)
        elif task.status in WORK_ENDED and task.task_id in self.background:
            self.background.remove(task.task_id)
            self._woken = True

    def commands_run(self, tasks: frozenset[str]) -> None:
        """These commands run in the background now; one that ended wakes the model."""
        self._woken = self._woken or bool(self.commands - tasks)
        self.commands = tasks

    def results_told(self) -> None:
        """Note that the model gets results of its calls, and with them the background work that ended by now."""
        self._woken = False

    def settled(self) -> None:
        """Note that messages which were not taken up by now start no turn."""
        self._settled = True

    def forsake(self) -> frozenset[str]:
        """End the wait for commands in the background, and return those that are to be ended."""
        self._forsaken = self.ended is not None
        return self.commands if self._forsaken else frozenset()
