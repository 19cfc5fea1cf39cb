"""The life of a stored task as a table of states and steps.

The documentation's picture is drawn from it, and a step that is not in it is refused with what a person can type.
"""

from monitors.contract.errors import ChaperonError
from supervisor.protocol.tasks import TaskState, TaskStep

_HELD = {
    TaskStep.GIVE_BACK: TaskState.PENDING,
    TaskStep.FAIL: TaskState.FAILED,
    TaskStep.PARK: TaskState.PARKED,
    TaskStep.CANCEL: TaskState.CANCELLED,
}
_AT_WORK = {TaskStep.VERIFY: TaskState.VERIFYING, TaskStep.MERGE: TaskState.MERGING, TaskStep.SUCCEED: TaskState.DONE}

TABLE: dict[TaskState, dict[TaskStep, TaskState]] = {
    TaskState.PENDING: {
        TaskStep.CLAIM: TaskState.ACTIVE,
        TaskStep.RETRY: TaskState.PENDING,
        TaskStep.FAIL: TaskState.FAILED,
        TaskStep.PARK: TaskState.PARKED,
        TaskStep.CANCEL: TaskState.CANCELLED,
    },
    TaskState.ACTIVE: {TaskStep.PAUSE: TaskState.PAUSED, TaskStep.ASK: TaskState.WAITING, **_AT_WORK, **_HELD},
    TaskState.PAUSED: {TaskStep.GO_ON: TaskState.ACTIVE, TaskStep.ASK: TaskState.WAITING, **_AT_WORK, **_HELD},
    TaskState.WAITING: {TaskStep.GO_ON: TaskState.ACTIVE, TaskStep.PAUSE: TaskState.PAUSED, **_AT_WORK, **_HELD},
    TaskState.VERIFYING: {
        TaskStep.REWORK: TaskState.ACTIVE,
        TaskStep.MERGE: TaskState.MERGING,
        TaskStep.SUCCEED: TaskState.DONE,
        **_HELD,
    },
    TaskState.MERGING: {
        TaskStep.REWORK: TaskState.ACTIVE,
        TaskStep.VERIFY: TaskState.VERIFYING,
        TaskStep.SUCCEED: TaskState.DONE,
        **_HELD,
    },
    TaskState.DONE: {},
    TaskState.FAILED: {TaskStep.RETRY: TaskState.PENDING, TaskStep.CANCEL: TaskState.CANCELLED},
    TaskState.PARKED: {
        TaskStep.RETRY: TaskState.PENDING,
        TaskStep.MERGE: TaskState.MERGING,
        TaskStep.SUCCEED: TaskState.DONE,
        TaskStep.FAIL: TaskState.FAILED,
        TaskStep.CANCEL: TaskState.CANCELLED,
    },
    TaskState.CANCELLED: {TaskStep.RETRY: TaskState.PENDING},
}
"""From each state, each legal step and where it leads."""


_COMMANDS: dict[TaskStep, str] = {
    TaskStep.RETRY: "chaperon task retry {task}",
    TaskStep.MERGE: "chaperon merge {task}",
    TaskStep.CANCEL: "chaperon task cancel {task}",
}
"""The commands by which a person has a task take a step; no command asks for the other steps."""


def commands_in(state: TaskState) -> tuple[str, ...]:
    """The commands of chaperon about a task in this state, that which shows it first."""
    steps = {step for step in TABLE[state] if not (state.held and step is TaskStep.MERGE)}  # a run merges by itself
    return ("chaperon task show {task}", *(command for step, command in _COMMANDS.items() if step in steps))


class IllegalTaskStepError(ChaperonError):
    """A task in this state cannot take this step; the task is unchanged."""

    def __init__(self, task: str, state: TaskState, step: TaskStep) -> None:
        """Name the state, the step refused, and what a person can type now."""
        commands = ", ".join(command.format(task=task) for command in commands_in(state))
        way_out = f"What you can do now: {commands}"
        super().__init__(f"Task {task} is {state} and cannot {step}; nothing was changed.", way_out=way_out)
        self.task, self.state, self.step = task, state, step


def take_step(task: str, state: TaskState, step: TaskStep) -> TaskState:
    """Return the state after the step.

    Raises:
        IllegalTaskStepError: The state has no such step.
    """
    try:
        return TABLE[state][step]
    except KeyError:
        raise IllegalTaskStepError(task, state, step) from None


def draw_tasks() -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2", "    [*] --> pending"]
    for state, steps in TABLE.items():
        lines += [f"    {state} --> {after}: {step}" for step, after in steps.items()]
        if state.over:
            lines.append(f"    {state} --> [*]")
    return "\n".join(lines)
