"""The end of a fleet's rehearsal, compared with what its file expects. Blocks: it reads repositories."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import ObjectType

from supervisor.rehearsal.check import CheckFinding
from supervisor.rehearsal.fleets.fleet_scenario import FleetScenario, RepositoryExpected
from supervisor.rehearsal.fleets.moments import FleetMoments

TARGET = "main"

TRAILER = "Chaperon-Task: "

SHOWN = 300
"""Characters of a file that are shown."""


def check_fleet(fleet: FleetScenario, moments: FleetMoments, repositories: Mapping[str, str]) -> list[CheckFinding]:
    """Return all that is not as expected."""
    findings = list(_tasks(fleet, moments))
    most, wanted_most = most_at_once(moments.events), fleet.expect.at_once
    if wanted_most not in (None, most):
        findings.append(
            CheckFinding("expect.at_once", f"At most {wanted_most} CLIs should have run at once; there were {most}.")
        )
    for name, expected in fleet.expect.repositories.items():
        place, folder = f"expect.repositories.{name}", Path(repositories[name])
        findings += [CheckFinding(place, says) for says in _repository(expected, folder, moments)]
    findings += [
        CheckFinding(f"expect.stories.{name}[{number}]", f"The journal does not tell of {dict(wanted)} at its place.")
        for name, story in fleet.expect.stories.items()
        for number, wanted in moments.missing(story)
    ]
    return findings


def most_at_once(events: Iterable[Mapping[str, Any]]) -> int:
    """Return how many CLIs ran at the same time when most did, by the journal's events."""
    running: set[str] = set()
    most = 0
    for event in events:
        if event["kind"] == "agent_launched":
            running.add(event["agent"])
            most = max(most, len(running))
        elif event["kind"] in ("agent_exited", "agent_vanished"):
            running.discard(event["agent"])
    return most


def _tasks(fleet: FleetScenario, moments: FleetMoments) -> Iterator[CheckFinding]:
    for name, wanted in fleet.expect.tasks.items():
        state = moments.states.get(moments.ids.get(name, ""))
        if state is not wanted:
            why = next((one["why"] for one in reversed(moments.events) if one.get("task") == moments.ids.get(name)), "")
            yield CheckFinding("expect.tasks", f"Task {name!r} should be {wanted} and is {state}: {why}")


def _repository(expected: RepositoryExpected, folder: Path, moments: FleetMoments) -> Iterator[str]:
    repo = pygit2.Repository(str(folder))
    tip = repo.references[f"refs/heads/{TARGET}"].peel(pygit2.Commit)
    wanted = {path: content.encode() for path, content in expected.files.items()}
    yield from _differences(f"{TARGET} of {folder.name}", wanted, dict(_files(repo, tip.tree)))
    on_disk = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
    yield from _differences(str(folder), wanted, on_disk)
    if sorted(repo.branches.local) != sorted(expected.branches):
        yield f"{folder.name} should have the branches {', '.join(expected.branches)} and has {', '.join(repo.branches.local)}."
    yield from _commits(expected, repo, moments)


def _files(repo: pygit2.Repository, tree: pygit2.Tree, above: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in tree:
        if entry.type == ObjectType.TREE:
            yield from _files(repo, repo[entry.id].peel(pygit2.Tree), f"{above}{entry.name}/")
        elif entry.type == ObjectType.BLOB:
            yield f"{above}{entry.name}", repo[entry.id].peel(pygit2.Blob).data


def _differences(what: str, wanted: Mapping[str, bytes], found: Mapping[str, bytes]) -> Iterator[str]:
    for path in sorted(wanted.keys() - found.keys()):
        yield f"{what} lacks {path}."
    for path in sorted(found.keys() - wanted.keys()):
        yield f"{what} has {path}, which was not expected: {found[path][:SHOWN]!r}."
    for path in sorted(wanted.keys() & found.keys()):
        if wanted[path] != found[path]:
            yield f"{path} of {what} should be {wanted[path][:SHOWN]!r} and is {found[path][:SHOWN]!r}."


def _commits(expected: RepositoryExpected, repo: pygit2.Repository, moments: FleetMoments) -> Iterator[str]:
    commits = list(repo.walk(repo.references[f"refs/heads/{TARGET}"].target))[:-1]
    messages = [commit.raw_message.decode(errors="replace") for commit in commits]
    subjects = sorted(message.partition("\n")[0] for message in messages)
    if subjects != sorted(expected.commits):
        yield f"The commits of {TARGET} should be {sorted(expected.commits)} and are {subjects}."
    for message in messages:
        subject = message.partition("\n")[0]
        trailers = [line.removeprefix(TRAILER) for line in message.splitlines() if line.startswith(TRAILER)]
        wanted = moments.ids.get(expected.commits.get(subject, ""), "")
        if wanted and trailers != [wanted]:
            yield f"The commit {subject!r} should name task {wanted} and names {', '.join(trailers) or 'none'}."
