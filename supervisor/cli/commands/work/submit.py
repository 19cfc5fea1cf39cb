"""The command that adds all tasks of a file: YAML, or JSON lines.

The file is checked whole, with the line of each fault, before anything is sent; and the daemon adds all or none.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from monitors.contract import anyjson
from monitors.contract.errors import ChaperonError, UsageError
from supervisor.cli import common
from supervisor.cli.client_errors import MisusedError
from supervisor.cli.commands.work.task import ADD_SECONDS
from supervisor.cli.output import terminal

MOST_BYTES = 64 * 1024 * 1024
"""Most of a file of tasks: ten thousand tasks have 10 MB."""

TASK_ID = re.compile(r"t-[0-9a-f]{8}")

SHOWN = 20
"""Faults of a file that are shown; the rest is counted."""


@dataclass(frozen=True, slots=True)
class FileTask:
    """One task of a file."""

    line: int
    """From 1."""
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A fault in a file."""

    line: int
    says: str


class TaskFileError(UsageError):
    """The file has tasks that cannot be added; none was."""

    def __init__(self, path: str, problems: list[FileProblem]) -> None:
        """Name each fault with its line."""
        more = f"\n… and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        told = "\n".join(f"{path}:{one.line}: {one.says}" for one in problems[:SHOWN])
        super().__init__(f"Nothing was added, for the file has faults:\n{told}{more}\n", way_out="Mend the file.")
        self.problems = tuple(problems)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option(
    "--repo", type=click.Path(path_type=Path), help="The repository of tasks that name none; here by default."
)
@click.option("--request-id", default="", help="Names the request, which adds its tasks once however often it is sent.")
@common.json_option
def submit(file: Path, repo: Path | None, request_id: str, as_json: bool) -> None:
    """Add all tasks of FILE, or none: a YAML list of tasks, or JSON lines; `-` reads standard input.

    A task has `prompt`, and may have `name`, `repository`, `depends_on` (names of the file, or ids of tasks) and all
    that `chaperon task add` takes. In YAML the list may stand under `tasks`, beside `defaults` for all of them.
    """
    raw = raw_of(file)
    folder = Path.cwd() if str(file) == "-" else file.absolute().parent
    found = checked(str(file), text_of(str(file), raw), folder, repo.absolute() if repo else Path.cwd())
    wanted = [task.fields for task in found]
    body = {"tasks": wanted, "request_id": common.whole_text(request_id) or uuid4().hex}
    daemon = common.daemon()
    common.tell_not_in_force(daemon)
    try:
        added = daemon.post("/v1/tasks", body, seconds=ADD_SECONDS)
    except MisusedError as error:
        if not error.faults:
            raise
        told = [FileProblem(found[number - 1].line, says) for number, says in error.faults.items()]
        raise TaskFileError(str(file), told) from None
    if as_json:
        terminal.echo_json(added["tasks"])
        return
    for row in added["tasks"]:
        terminal.echo(f"{row['task']}  {' '.join(row['prompt'].split())[:100]}")


def raw_of(file: Path) -> bytes:
    """Return what a file holds, `-` being standard input; a pipe is read to its end.

    Raises:
        UsageError: It has more than any plan, as a device without end.
    """
    if str(file) == "-":
        raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        with file.open("rb") as opened:
            raw = opened.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise UsageError(
            f"{file} holds more than {MOST_BYTES // 1024 // 1024} MiB, which no file of tasks has; none was added.",
            way_out="Name a file of tasks, or submit it in parts.",
        )
    return raw


def text_of(path: str, raw: bytes) -> str:
    """Return the text of a file, without the mark of its byte order.

    Raises:
        TaskFileError: It is not UTF-8. Prompts with replaced characters would be others than were written.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        says = f"not UTF-8: byte 0x{raw[error.start]:02x}"
        raise TaskFileError(path, [FileProblem(line, says)]) from error


def checked(path: str, text: str, folder: Path, repository: Path) -> list[FileTask]:
    """Return the tasks of a file as the API takes them.

    Args:
        path: Its name, for errors.
        text: What is in it.
        folder: The folder that relative repositories are below.
        repository: The repository of tasks that name none.

    Raises:
        TaskFileError: It has faults; each with its line.
    """
    # Here, since the models take half a second to import, which other commands need not pay.
    from pydantic import ValidationError

    from supervisor.config.problems import explain
    from supervisor.runtime.tasks.desk import TaskWanted

    found, problems = read(text)
    wanted: list[FileTask] = []
    places = _Places()
    names: dict[str, int] = {}
    for task in found:
        fields = {"repository": str(repository), **task.fields}  # another type than text is refused, not passed over
        if isinstance(own := fields["repository"], str):
            try:
                fields["repository"] = str(folder / Path(own).expanduser())
            except RuntimeError:
                problems.append(FileProblem(task.line, f"repository: {own!r} names the home of no user here"))
        if isinstance(fields.get("depends_on"), str):
            fields["depends_on"] = [fields["depends_on"]]
        try:
            TaskWanted.model_validate(fields)
        except ValidationError as error:
            problems += (
                FileProblem(task.line, explain(fault, TaskWanted)) for fault in error.errors(include_url=False)
            )
            continue
        problems += (FileProblem(task.line, says) for says in places.faults(fields["prompt"], fields["repository"]))
        wanted.append(FileTask(task.line, fields))
        if (name := fields.get("name")) is not None:
            if name in names:
                problems.append(FileProblem(task.line, f"name: {name!r} is the name of the task in line {names[name]}"))
            names.setdefault(name, task.line)
    known = {name for task in found if isinstance(name := task.fields.get("name"), str)}  # also of faulty tasks
    for task in found:
        problems += (FileProblem(task.line, says) for says in _unknown(task.fields.get("depends_on"), known))
    if not problems and not wanted:
        problems.append(FileProblem(1, "there is no task in it"))
    if not problems:
        problems += _circle(found)
    if problems:
        raise TaskFileError(path, sorted(problems, key=lambda one: one.line))
    return wanted


class _Places:
    """Looks whether tasks can be done where they say; each directory is looked at once."""

    def __init__(self) -> None:
        self._faults: dict[str, str] = {}

    def faults(self, prompt: str, repository: str) -> Iterator[str]:
        """Yield what is wrong with a task's prompt, and with its repository."""
        from supervisor.runtime.daemon.submission import Submission

        asked = Submission(prompt=prompt, repository=repository)
        yield from _refused(asked.check_words)
        if repository not in self._faults:
            self._faults[repository] = next(_refused(asked.check_directory), "")
        if self._faults[repository]:
            yield self._faults[repository]


def _refused(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except ChaperonError as error:
        yield error.what.rpartition("; nothing ")[0] or error.what


def read(text: str) -> tuple[list[FileTask], list[FileProblem]]:
    """Return the tasks of a text, each with its line, and what cannot be read."""
    return _json_lines(text) if text.lstrip()[:1] == "{" else _yaml(text)


def _json_lines(text: str) -> tuple[list[FileTask], list[FileProblem]]:
    tasks: list[FileTask] = []
    problems: list[FileProblem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = anyjson.loads(line.encode())
        except ValueError as error:
            problems.append(FileProblem(number, f"no JSON: {error}"))
            continue
        if isinstance(row, dict):
            tasks.append(FileTask(number, row))
        else:
            problems.append(FileProblem(number, "no JSON object"))
    return tasks, problems


def _yaml(text: str) -> tuple[list[FileTask], list[FileProblem]]:
    from supervisor.config.yaml_tree import YamlError, parse

    try:
        document = parse(text)
    except YamlError as error:
        return [], [FileProblem(flaw.line, flaw.says) for flaw in error.flaws]
    value = document.value
    path: list[str | int] = []
    defaults: dict[str, Any] = {}
    problems: list[FileProblem] = []
    if isinstance(value, dict):
        for key in value.keys() - {"tasks", "defaults"}:
            says = f"{key!r} is neither `tasks` nor `defaults`"
            problems.append(FileProblem(document.place([key], of_key=True)[0], says))
        defaults = value.get("defaults") or {}
        value, path = value.get("tasks"), ["tasks"]
    if not isinstance(value, list) or not isinstance(defaults, dict):
        return [], [*problems, FileProblem(1, "no list of tasks, alone or under `tasks`, and no mapping of `defaults`")]
    tasks = []
    for number, row in enumerate(value):
        line = document.place([*path, number])[0]
        if isinstance(row, dict):
            tasks.append(FileTask(line, {**defaults, **row}))
        else:
            problems.append(FileProblem(line, "a task is a mapping with `prompt` and more"))
    return tasks, problems


def _unknown(depends: Any, names: Set[str]) -> Iterator[str]:
    for name in [depends] if isinstance(depends, str) else depends if isinstance(depends, list) else ():
        if isinstance(name, str) and name not in names and not TASK_ID.fullmatch(name):
            yield f"depends_on: {name!r} is no name in this file, and no id of a task"


def _circle(found: list[FileTask]) -> Iterator[FileProblem]:
    """Find tasks of the file that wait for one another."""
    from supervisor.core.tasks.admission import refuse_cycle
    from supervisor.core.tasks.store import TaskStore
    from supervisor.protocol.tasks import TaskSpec

    lines, specs = {}, {}
    for number, task in enumerate(found):
        name = str(task.fields.get("name", f"#{number}"))
        depends = task.fields.get("depends_on") or ()
        lines[name] = task.line
        specs[name] = TaskSpec(
            id=name, prompt="", repository="", depends_on=(depends,) if isinstance(depends, str) else tuple(depends)
        )
    try:
        refuse_cycle(TaskStore(), specs)
    except UsageError as error:
        first = next((name for name in lines if f" {name} " in f" {error.what} "), "")
        yield FileProblem(lines.get(first, 1), error.what.partition(";")[0])
