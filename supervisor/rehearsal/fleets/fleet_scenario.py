"""The file of a fleet's rehearsal: repositories, tasks with what their agents' models answer, what is done meanwhile.

In words of acts and in expected events, `{agent:TASK}` stands for the agent that has a task or had it last,
`{task:TASK}` for its id, and `{repository:NAME}` for the path of a repository. That may stand in a model's answers too.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from monitors.contract.bounds import Pause
from supervisor.config.model import Config
from supervisor.config.problems import nearest
from supervisor.config.sections.base import Section
from supervisor.config.yaml_tree import Document, YamlError, parse
from supervisor.protocol.tasks import TaskState
from supervisor.rehearsal.expect import Texts, one_or_many
from supervisor.rehearsal.scenario import ScenarioError, ScenarioStep, ScratchRepository, document_of, faults, text_of

SHIPPED = Path(__file__).parent / "scenarios"
"""The folder of the fleets that come with chaperon."""


class Moment(Section):
    """A moment of the run; exactly one of these, and `state` beside `task`."""

    task: str = ""
    """A task, which is in the state."""
    state: Annotated[TaskState | None, Field(strict=False)] = None
    """The state of that task."""
    step: str = ""
    """A step that a model was asked for. Example: `schema/write`."""
    act: str = ""
    """An act that is done."""
    event: dict[str, Any] = Field(default_factory=dict)
    """An event of the journal with at least these fields, since the rehearsal began."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(bool(one) for one in (self.task, self.step, self.act, self.event)) != 1:
            raise ValueError("say one of `task`, `step`, `act` and `event`")
        if bool(self.task) != (self.state is not None):
            raise ValueError("`task` and `state` go together")
        return self


Moments = Annotated[tuple[Moment, ...], Field(strict=False), BeforeValidator(one_or_many)]
"""One moment, or several that must all have come."""


class FleetStep(ScenarioStep):
    """One answer of a task's model."""

    after: Moments = ()
    """Moments that the answer waits for."""
    fails_until: Moments = ()
    """Moments before which the first of `fail` is the answer to every request; empty: each is the answer to one."""


class FleetTask(Section):
    """A stored task, and what the model answers to whichever agent works on it, from its first attempt to its last."""

    name: str = Field(min_length=1)
    """Its name in this file."""
    repository: str
    """The name of its repository."""
    prompt: str = Field(min_length=1)
    """Its prompt, which is part of no other's: by it the model knows the task."""
    depends_on: Texts = ()
    """Names of the tasks that must be done before."""
    about: dict[str, Any] = Field(default_factory=dict)
    """More of the task, as a file of `chaperon submit` has it. Examples: `verify`, `priority`."""
    steps: Annotated[tuple[FleetStep, ...], Field(strict=False)] = ()
    """The answers, one after another; behind the last one the model says that all is done."""


class FleetRepository(ScratchRepository):
    """A scratch repository."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    """The name of its folder."""


class Act(Section):
    """Something that is done meanwhile: one of the keys beside `name` and `after`."""

    name: str
    """Its name in this file."""
    after: Moments = ()
    """Moments that it waits for."""
    run: str = ""
    """The words of a command of a person's, behind `chaperon`. Example: `resume {agent:guide}`."""
    kill_cli: str = ""
    """The task whose CLI is killed."""
    kill_daemon: bool = False
    """Whether the daemon is killed and started again."""
    down: Pause = 0
    """Seconds until a killed daemon is started again."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum((bool(self.run), bool(self.kill_cli), self.kill_daemon)) != 1:
            raise ValueError("say one of `run`, `kill_cli` and `kill_daemon`")
        return self


class RepositoryExpected(Section):
    """A repository at the end: its branch `main`, and the worktree that has it."""

    files: dict[str, str]
    """All files, byte for byte; there is no other."""
    commits: dict[str, str]
    """The first lines of all commits behind the first one, each with the task that its trailer names."""
    branches: Texts = ("main",)
    """All branches."""


class FleetExpected(Section):
    """The end of the rehearsal."""

    tasks: dict[str, Annotated[TaskState, Field(strict=False)]]
    """The state of each task."""
    repositories: dict[str, RepositoryExpected]
    """Each repository."""
    at_once: Annotated[int, Field(ge=1)] | None = None
    """How many CLIs ran at the same time when most did; None if that does not matter."""
    stories: dict[str, Annotated[tuple[dict[str, Any], ...], Field(strict=False)]] = Field(default_factory=dict)
    """Stories that the journal tells, by name: events with at least these fields, in this order, with any others
    between them."""


class FleetScenario(Section):
    """The rehearsal of a fleet."""

    name: str
    """Its name in messages."""
    description: str = ""
    """Its purpose."""
    repositories: Annotated[tuple[FleetRepository, ...], Field(strict=False, min_length=1)]
    """The scratch repositories."""
    policy: dict[str, Any] = Field(default_factory=dict)
    """A part of chaperon.yaml, under which the rehearsal runs."""
    tasks: Annotated[tuple[FleetTask, ...], Field(strict=False, min_length=1)]
    """The stored tasks, in the order in which they are added."""
    acts: Annotated[tuple[Act, ...], Field(strict=False)] = ()
    """Acts that are done meanwhile."""
    expect: FleetExpected
    """The expected end."""

    def steps(self) -> dict[str, tuple[int, int]]:
        """Return each step by its name, with its task's place and its own."""
        return {
            f"{task.name}/{step.name or number + 1}": (place, number)
            for place, task in enumerate(self.tasks)
            for number, step in enumerate(task.steps)
        }


def shipped_fleets() -> dict[str, Path]:
    """The fleets that come with chaperon, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.yaml"))}


def is_fleet(path: Path) -> bool:
    """Whether a file is of a fleet, and not of one agent; a file that cannot be read is neither."""
    try:
        value = parse(text_of(path)).value
    except (ScenarioError, YamlError):
        return False
    return isinstance(value, dict) and "repositories" in value


def load_fleet(path: Path) -> FleetScenario:
    """Read the file of a fleet's rehearsal.

    Raises:
        ScenarioError: The file cannot be read, or something in it is wrong.
    """
    return read_fleet(text_of(path), str(path))


def read_fleet(text: str, source: str = "fleet") -> FleetScenario:
    """Make the rehearsal of a fleet of a file's text.

    Raises:
        ScenarioError: With line and column of everything that is wrong.
    """
    document = document_of(text, source)
    try:
        fleet = FleetScenario.model_validate(document.value)
    except ValidationError as error:
        raise ScenarioError(source, sorted(faults(document, error, FleetScenario))) from None
    dangling = [(*document.place(path), says) for path, says in _dangling(fleet)]
    if problems := [*dangling, *_policy(document, fleet)]:
        raise ScenarioError(source, sorted(problems))
    return fleet


def _policy(document: Document, fleet: FleetScenario) -> Iterator[tuple[int, int, str]]:
    try:
        Config.model_validate(fleet.policy, context={"home": "/home", "directory": "/"})
    except ValidationError as error:
        yield from faults(document, error, Config, "policy")


def _dangling(fleet: FleetScenario) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Names that are used twice, and those of what is not there."""
    known = {
        "tasks": [task.name for task in fleet.tasks],
        "repositories": [one.name for one in fleet.repositories],
        "acts": [act.name for act in fleet.acts],
    }
    for kind, names in known.items():
        for name in (name for name, count in Counter(names).items() if count > 1):
            yield (kind,), f"two of these are named {name!r}; give one of them another name"
    steps = list(fleet.steps())
    for place, kind, name in _named(fleet):
        there = steps if kind == "steps" else known[kind]
        if name not in there:
            near = nearest(name, there) or f"; there are: {', '.join(there) or 'none'}"
            yield place, f"there is no {name!r} among the {kind}{near}"


def _named(fleet: FleetScenario) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Every mention of a name, with its place and the kind of what it names."""
    for number, task in enumerate(fleet.tasks):
        yield ("tasks", number, "repository"), "repositories", task.repository
        for name in task.depends_on:
            yield ("tasks", number, "depends_on"), "tasks", name
        for at, step in enumerate(task.steps):
            yield from _in_moments(("tasks", number, "steps", at, "after"), step.after)
            yield from _in_moments(("tasks", number, "steps", at, "fails_until"), step.fails_until)
    for number, act in enumerate(fleet.acts):
        yield from _in_moments(("acts", number, "after"), act.after)
        if act.kill_cli:
            yield ("acts", number, "kill_cli"), "tasks", act.kill_cli
    for name in fleet.expect.tasks:
        yield ("expect", "tasks", name), "tasks", name
    for name, one in fleet.expect.repositories.items():
        yield ("expect", "repositories", name), "repositories", name
        for subject, task_name in one.commits.items():
            yield ("expect", "repositories", name, "commits", subject), "tasks", task_name


def _in_moments(place: tuple[str | int, ...], moments: tuple[Moment, ...]) -> Iterator[tuple[Any, str, str]]:
    for moment in moments:
        for kind, name in (("tasks", moment.task), ("steps", moment.step), ("acts", moment.act)):
            if name:
                yield place, kind, name
