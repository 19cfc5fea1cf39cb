"""The scenario file: what a scripted model does in a scratch repository, and what is expected of the supervisor.

`{workspace}`, `{home}` and `{state}` in any text stand for the agent's workspace, its HOME, and chaperon's state
directory; `place` fills them in. Every other brace is left as it is, since shell commands are full of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError, model_validator

from monitors.contract.bounds import Pause
from monitors.contract.errors import NotFoundError, UsageError
from supervisor.config.model import Config, PermissionMode
from supervisor.config.problems import explain, nearest
from supervisor.config.sections.base import Section, truth_value
from supervisor.config.yaml_tree import Document, YamlError, parse
from supervisor.rehearsal import script as scripts
from supervisor.rehearsal.expect import Expect, Texts, one_or_many

MOST_BYTES = 1_048_576
"""Most of a scenario's file: the longest that ships has 12 kB."""


@dataclass(frozen=True, slots=True)
class ScenarioPaths:
    """Values of the placeholders, absolute."""

    workspace: str
    home: str
    state: str
    """Chaperon's own state directory."""


class TaskGiven(Section):
    """The agent's task."""

    prompt: str = Field(min_length=1)
    """The task."""
    goals: Texts = ()
    """When it is done, most important first."""
    constraints: Texts = ()
    """Constraints of the agent."""
    expected_paths: Texts = ()
    """Globs of what the task should touch."""
    permission_mode: PermissionMode = "default"
    """The CLI's own."""


def _inside(path: str) -> str:
    if path.startswith("/") or not path or ".." in path.split("/"):
        raise ValueError(f"{path!r} must be relative and stay inside")
    return path


class File(Section):
    """A file that is there before the run."""

    path: Annotated[str, AfterValidator(_inside)]
    """Relative: to the repository, or to HOME for those under `home`."""
    content: str = ""
    """Its content."""
    committed: bool = True
    """Whether the repository's first commit has it; means nothing under `home`."""


class ScratchRepository(Section):
    """The scratch repository."""

    files: Annotated[tuple[File, ...], Field(strict=False)] = ()
    """Its files at the beginning of the run."""
    remote: bool = False
    """Whether it has a bare `origin` beside it, to which its branch `main` was pushed."""


class ScenarioCall(Section):
    """A tool call."""

    tool: str
    """The CLI's name of the tool. Example: `Bash`."""
    input: dict[str, Any] = Field(default_factory=dict)
    """The tool's input."""


def _short_fail(value: Any) -> Any:
    """Take `529` for a status, and `broken` for what befalls the stream."""
    if isinstance(value, int):
        return {"status": value}
    return {"stream": value} if isinstance(value, str) else value


class Fail(Section):
    """The answer to a request in the place of the step. Written as `529`, as `broken`, or in full."""

    status: int | None = Field(default=None, ge=400, le=599)
    """An HTTP error of the API: 400, 401, 404, 429 (rate limit), 500, 529 (overload)."""
    message: str = ""
    """The API's message with the status; empty means its usual one."""
    retry_after: Pause | None = None
    """Seconds that the API asks the CLI to wait."""
    stream: Literal["broken", "garbage", "endless", "error"] | None = None
    """The fault in the middle of the stream."""
    times: int = Field(default=1, ge=1, le=100)
    """How many requests get it."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.status is None) == (self.stream is None):
            raise ValueError("say either `status` or `stream`")
        return self

    def failures(self) -> tuple[scripts.Failure, ...]:
        """The same for the model."""
        kinds: Mapping[str, scripts.Failure] = {
            "broken": scripts.BrokenStream(),
            "garbage": scripts.Garbage(),
            "endless": scripts.EndlessStream(),
            "error": scripts.ErrorEvent(),
        }
        error = scripts.ApiError(self.status or 500, self.message, self.retry_after)
        return (kinds[self.stream] if self.stream else error,) * self.times


class ScenarioTokens(Section):
    """The usage that a step reports."""

    input: int = Field(default=100, ge=0)
    """Fresh ones that the model was given."""
    output: int = Field(default=20, ge=0)
    """Those that it wrote."""
    cache_write: int = Field(default=0, ge=0)
    """Those that were written into the cache."""
    cache_read: int = Field(default=0, ge=0)
    """Those that were read from the cache."""


class ScenarioStep(Section):
    """One answer of the model: text, tool calls, or both, and what goes wrong before it."""

    name: str = ""
    """Its name in expectations; left out, its number from 1."""
    say: Texts = ()
    """Text of the model: one, or several."""
    use: Annotated[tuple[ScenarioCall, ...], Field(strict=False), BeforeValidator(one_or_many)] = ()
    """One call, or several that run in parallel."""
    fail: Annotated[
        tuple[Annotated[Fail, BeforeValidator(_short_fail)], ...], Field(strict=False), BeforeValidator(one_or_many)
    ] = ()
    """Answers to the first requests for this step; the CLI's retry after them gets the step."""
    wait: Pause = 0
    """Seconds before the answer begins."""
    wait_between: Pause = 0
    """Seconds before each further event of the stream."""
    tokens: ScenarioTokens = ScenarioTokens()
    """The usage that it reports."""

    def played(self) -> scripts.ScriptStep:
        """The same for the model."""
        says = (scripts.Say(text) for text in self.say)
        uses = (scripts.ToolUse(use.tool, use.input) for use in self.use)
        return scripts.ScriptStep(
            blocks=(*says, *uses),
            failures=tuple(failure for fail in self.fail for failure in fail.failures()),
            first_byte_seconds=self.wait,
            chunk_seconds=self.wait_between,
            tokens=scripts.ScriptTokens(**self.tokens.model_dump()),
        )


Steps = Annotated[tuple[ScenarioStep, ...], Field(strict=False)]


class Subagent(Section):
    """The answers of a subagent's model."""

    when: str = Field(min_length=1)
    """Text in the prompt that the `Agent` call gives it; tells it apart from the agent and from other subagents."""
    steps: Steps = ()
    """Its answers, one after another."""


class Allow(Section):
    """Something that a person lets pass which the reviewer would block; a rule or a text at least."""

    rule: str = ""
    """The rule that is excused."""
    tool: str = ""
    """Only for this tool."""
    text: str = ""
    """The command, path or address, exactly."""
    once: bool = True
    """Whether it is for one call, or for all from there on."""


def _checkpoint(value: Any) -> Any:
    """Take a checkpoint's name for going back to it."""
    return {"checkpoint": value} if isinstance(value, str) else value


class ScenarioRollback(Section):
    """A checkpoint to go back to. Written as its name, or in full."""

    checkpoint: str
    """Its name. The first that is made by itself is `rehearsal-start-1`; `checkpoint` gives one a name."""
    files_only: bool = False
    """Whether the conversation stays as it is."""
    fresh: bool = False
    """Whether the conversation begins anew."""


def _note(value: Any) -> Any:
    """Take `true` or `yes` for an answer without a note."""
    return "" if truth_value(value) is True else value


Note = Annotated[str | None, BeforeValidator(_note)]


class Interjection(Section):
    """An act of a person while a step's tool calls run, or wait for a person: one of the keys beside `at`."""

    at: str
    """The step. The act follows the model's request for it; an act that must precede its calls belongs to a step
    before."""
    say: str | None = None
    """Something said to the agent."""
    redirect: str | None = None
    """Something else to do, from here on."""
    pause: Pause | None = None
    """Hold the agent for so many seconds, then let it go on."""
    stop: str | None = None
    """End the agent, for this reason."""
    approve: Note = None
    """Let the step's calls run that wait for a person; the text is a note for the model, and `yes` is none."""
    deny: Note = None
    """Turn them down; the text is a note for the model, and `yes` is none."""
    call: int | None = Field(default=None, ge=1)
    """Number of the step's parallel call for `approve` and `deny`, from 1; left out, each of them."""
    allow: Allow | None = None
    """Let something pass that the reviewer would block."""
    checkpoint: str | None = None
    """Make a checkpoint of this name."""
    rollback: Annotated[ScenarioRollback | None, BeforeValidator(_checkpoint)] = None
    """Go back to a checkpoint."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        deeds = [name for name in type(self).model_fields if name not in ("at", "call")]
        if sum(getattr(self, name) is not None for name in deeds) != 1:
            raise ValueError(f"say one of {', '.join(f'`{name}`' for name in deeds[:-1])} and `{deeds[-1]}`")
        if self.call is not None and self.approve is None and self.deny is None:
            raise ValueError("`call` goes with `approve` and `deny` alone")
        return self


class Scenario(Section):
    """A rehearsal, as its file says it."""

    name: str
    """Its name in messages."""
    description: str = ""
    """Its purpose."""
    task: TaskGiven
    """The agent's task."""
    repository: ScratchRepository = ScratchRepository()
    """The scratch repository in which it works."""
    home: Annotated[tuple[File, ...], Field(strict=False)] = ()
    """Files in the agent's HOME, outside the workspace."""
    policy: dict[str, Any] = Field(default_factory=dict)
    """A part of chaperon.yaml, under which the rehearsal runs. Relative paths are below the scenario's directory."""
    steps: Steps = ()
    """The model's answers, one after another."""
    subagents: Annotated[tuple[Subagent, ...], Field(strict=False)] = ()
    """The answers of subagents' models."""
    interjections: Annotated[tuple[Interjection, ...], Field(strict=False)] = ()
    """Acts of a person meanwhile."""
    expect: Expect = Expect()
    """The expected outcome."""

    def conversations(self) -> Sequence[Sequence[ScenarioStep]]:
        """The steps of each script: the agent's own first, then those of the subagents, in order."""
        return (self.steps, *(subagent.steps for subagent in self.subagents))

    def scripts(self) -> tuple[scripts.ModelScript, ...]:
        """Return the scripts of the model; the places are those of `conversations`."""
        when = ("", *(subagent.when for subagent in self.subagents))
        played = (tuple(step.played() for step in steps) for steps in self.conversations())
        return tuple(scripts.ModelScript(steps, text) for steps, text in zip(played, when, strict=True))

    def named_steps(self) -> Iterator[tuple[str, int, int, ScenarioStep]]:
        """Each step with its name, its script's place, and its own place in the script."""
        for script, steps in enumerate(self.conversations()):
            for number, step in enumerate(steps):
                plain = str(number + 1) if script == 0 else f"{script}.{number + 1}"
                yield step.name or plain, script, number, step

    def calls(self) -> dict[str, tuple[str, int]]:
        """Each tool call's id, with its step's name and its number in the step, from 1."""
        found: dict[str, tuple[str, int]] = {}
        seen = [0] * len(self.conversations())
        for name, script, _, step in self.named_steps():
            for number in range(len(step.use)):
                found[scripts.call_id(script, seen[script])] = (name, number + 1)
                seen[script] += 1
        return found

    def place(self, places: ScenarioPaths) -> "Scenario":
        """The same scenario with every placeholder filled in."""
        filled = _fill(
            self.model_dump(exclude_unset=True), {f"{{{name}}}": path for name, path in asdict(places).items()}
        )
        return Scenario.model_validate(filled)


def policy_of(scenario: Scenario, places: ScenarioPaths, directory: str = "") -> Config:
    """Return the configuration under which a scenario runs.

    Args:
        scenario: With its placeholders, or without.
        places: What they stand for.
        directory: The scenario's, which relative paths are below.

    Raises:
        ValidationError: The policy is wrong.
    """
    policy = scenario.place(places).policy
    return Config.model_validate(policy, context={"home": places.home, "directory": directory})


class ScenarioError(UsageError):
    """The scenario was refused."""

    def __init__(self, source: str, problems: Sequence[tuple[int, int, str]]) -> None:
        """Say everything that is wrong, a line each, with line and column."""
        lines = "".join(f"\n  {source}:{line}:{column}: {says}" for line, column, says in problems)
        super().__init__(
            f"The scenario was refused; nothing was started.{lines}\n",
            way_out="Correct these lines and try again; the scenarios that come with chaperon are examples.",
        )
        self.problems = tuple(problems)


def load(path: Path) -> Scenario:
    """Read a scenario file.

    Raises:
        ScenarioError: The file cannot be read, or something in it is wrong.
    """
    return read(text_of(path), str(path), str(path.absolute().parent))


def text_of(path: Path) -> str:
    """Return the text of a scenario file, of one agent or of a fleet.

    Raises:
        ScenarioError: The file cannot be read, or is too long.
    """
    try:
        with path.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(str(path), [(1, 1, f"it cannot be read: {error}")]) from None
    if len(text) > MOST_BYTES:
        raise ScenarioError(str(path), [(1, 1, f"it holds more than {MOST_BYTES} bytes, which no scenario has")])
    return text


def read(text: str, source: str = "scenario", directory: str = "") -> Scenario:
    """Make a scenario of a file's text.

    Args:
        text: The text.
        source: What messages call it.
        directory: The file's, which relative paths of the policy are below.

    Raises:
        ScenarioError: With line and column of everything that is wrong, in the policy too.
    """
    document = document_of(text, source)
    try:
        scenario = Scenario.model_validate(document.value)
    except ValidationError as error:
        policy = document.value.get("policy") if isinstance(document.value, dict) else None
        alone = Scenario(name="", task=TaskGiven(prompt="x"), policy=policy if isinstance(policy, dict) else {})
        raise ScenarioError(
            source, sorted([*faults(document, error, Scenario), *_policy(document, alone, directory)])
        ) from None
    dangling = [(*document.place(path), says) for path, says in _dangling(scenario)]
    if problems := sorted([*dangling, *_policy(document, scenario, directory)]):
        raise ScenarioError(source, problems)
    return scenario


def document_of(text: str, source: str) -> Document:
    """Return the YAML of a file's text.

    Raises:
        ScenarioError: With line and column of every flaw.
    """
    try:
        return parse(text)
    except YamlError as error:
        raise ScenarioError(source, [(flaw.line, flaw.column, flaw.says) for flaw in error.flaws]) from None


def faults(
    document: Document, error: ValidationError, model: type[BaseModel], below: str = ""
) -> Iterator[tuple[int, int, str]]:
    """Yield what is wrong, by line and column.

    Args:
        document: The file.
        error: What was found.
        model: The model of the file, or of a part of it.
        below: The key of that part.
    """
    value = document.value[below] if below else document.value
    for item in error.errors(include_url=False):
        of_key = item["type"] in ("extra_forbidden", "invalid_key")
        place = [*([below] if below else []), *_as_written(value, item["loc"])]
        yield *document.place(place, of_key=of_key), f"{below}{below and ': '}{explain(item, model)}"


_SOMEWHERE = ScenarioPaths("/workspace", "/home/agent", "/state")
"""Values of placeholders while a policy is checked, before any run."""


def _policy(document: Document, scenario: Scenario, directory: str) -> Iterator[tuple[int, int, str]]:
    """Yield the faults of the policy, by line and column."""
    try:
        policy_of(scenario, _SOMEWHERE, directory or "/")
    except ValidationError as error:
        yield from faults(document, error, Config, "policy")


def find(name: str, also: Mapping[str, Path] | None = None) -> Path:
    """Return the file of a scenario: one of that path, or one of that name that comes with chaperon.

    Args:
        name: The path or the name.
        also: More of those that come with chaperon.

    Raises:
        NotFoundError: There is neither.
    """
    there = {**shipped(), **(also or {})}
    path = there.get(name, Path(name))
    if not path.exists():
        what = f"There is no scenario {name!r}: no file of that path, and none of that name comes with chaperon."
        near = nearest(name, list(there)).removeprefix("; ")
        raise NotFoundError(
            what, way_out=f"{f'{near[0].upper()}{near[1:]} ' if near else ''}These come with it: {', '.join(there)}."
        )
    return path


def shipped() -> dict[str, Path]:
    """The scenarios that come with chaperon, by name."""
    folder = Path(__file__).parent / "scenarios"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _as_written(value: Any, path: Sequence[str | int]) -> Iterator[str | int]:
    """Leave out the steps into lists that were written as a single value."""
    for step in path:
        if isinstance(step, int) and not isinstance(value, list):
            continue
        yield step
        try:
            value = value[step]
        except (LookupError, TypeError):
            return


def _dangling(scenario: Scenario) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Names that are used twice, and what speaks of a step or call that is not there."""
    steps: dict[str, ScenarioStep] = {}
    for name, script, number, step in scenario.named_steps():
        if name in steps:
            above: tuple[str | int, ...] = ("subagents", script - 1) if script else ()
            yield (*above, "steps", number), f"two steps are named {name!r}; give one of them another name"
        steps[name] = step
    for path, named in _named(scenario):
        if named not in steps:
            near = nearest(named, list(steps)) or f"; the steps are: {', '.join(steps) or 'none'}"
            yield path, f"there is no step {named!r}{near}"
    for number, expected in enumerate(scenario.expect.decisions):
        calls = len(steps[expected.step].use) if expected.step in steps else None
        if calls is not None and calls < (expected.call or 1):
            asked = f"no call {expected.call}" if calls else "no tool call"
            yield ("expect", "decisions", number), f"step {expected.step!r} has {asked}, so nothing is decided about it"


def _named(scenario: Scenario) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every mention of a step's name, with its place in the file."""
    expect = scenario.expect
    mentions: list[tuple[tuple[str | int, ...], str | None]] = [(("expect", "last_step"), expect.last_step)]
    mentions += [(("interjections", n, "at"), each.at) for n, each in enumerate(scenario.interjections)]
    mentions += [(("expect", "decisions", n, "step"), each.step) for n, each in enumerate(expect.decisions)]
    mentions += [(("expect", "told", n, "at"), each.at) for n, each in enumerate(expect.told)]
    mentions += [(("expect", "told", n, "after"), each.after) for n, each in enumerate(expect.told)]
    return ((path, name) for path, name in mentions if name is not None)


def _fill(value: Any, places: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for placeholder, path in places.items():
            value = value.replace(placeholder, path)
        return value
    if isinstance(value, dict):
        return {key: _fill(item, places) for key, item in value.items()}
    return [_fill(item, places) for item in value] if isinstance(value, (list, tuple)) else value
