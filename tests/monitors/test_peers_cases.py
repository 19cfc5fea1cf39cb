"""What peers publish as their behaviour, and what their users reported of it, as one table.

Calls and results go in, and the types of issues come out. `peer` is what the peer's own rule says (or what its users
wanted); where ours differs on purpose, the row says why.
"""

from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import pytest

from monitors.contract.observations import Observation
from monitors.contract.tasks import Task
from monitors.detectors import DetectorSettings, make_detectors
from tests.monitors.steps import Run

Steps = list[list[Observation]]


class Case(NamedTuple):
    name: str
    steps: Callable[[Run], Steps]
    peer: bool
    """Whether the peer alarms, or its users wanted an alarm."""
    ours: frozenset[str]
    why: str = ""


def case(name: str, steps: Callable[[Run], Steps], peer: bool, *ours: str, why: str = "") -> Case:
    return Case(name, steps, peer, frozenset(ours), why)


def ls(run: Run, times: int) -> Steps:
    return [run.bash("ls", "a\nb") for _ in range(times)]


def fails(run: Run, times: int, command: str = "make", text: str = "make: *** No rule to make target") -> Steps:
    return [run.fails(command, text) for _ in range(times)]


def alternating(run: Run, times: int) -> Steps:
    return [run.read(f"/w/{'ab'[n % 2]}.py") for n in range(times)]


def cycle(run: Run, period: int, times: int) -> Steps:
    return [run.read(f"/w/{n % period}.py") for n in range(period * times)]


CASES = [
    # OpenHands
    case("the same action and observation four times", lambda run: ls(run, 4), True, "repetition"),
    case("the same action and observation twice", lambda run: ls(run, 2), False),
    case("the same action and error three times", lambda run: fails(run, 3), True, "repetitive_errors"),
    case("the same action and error twice", lambda run: fails(run, 2), False),
    case("the same action with errors of other text", lambda run: [run.fails("make", f"error in {word}") for word in ("lexer", "parser", "linker", "loader")], True,
         why="other errors show that something changed; the peer ignores an error's text"),
    case("a monologue of three equal messages", lambda run: [run.says("I will look into it now.") for _ in range(3)], True, "text_loop"),
    case("a monologue of three different messages", lambda run: [run.says(text) for text in ("I look.", "It is the parser.", "Mended, with a test.")], False),
    case("two steps in turn, six in all", lambda run: alternating(run, 6), True, "repetition"),
    case("two steps in turn, four in all", lambda run: alternating(run, 4), False),
    case("a user's message between equal steps", lambda run: [*ls(run, 2), run.told("go on"), *ls(run, 1)], False, "repetition",
         why="a word does not make the same call with the same result new; the peer starts to count anew"),
    # gemini-cli
    case("one call five times", lambda run: ls(run, 5), True, "repetition"),
    case("a cycle of three calls five times", lambda run: cycle(run, 3, 5), True, "repetition", "no_progress"),
    case("a cycle of three calls twice", lambda run: cycle(run, 3, 2), False),
    case("one call five times with other results", lambda run: [run.bash("make status-report", f"{n} of 9 built") for n in range(5)], True,
         why="the result is part of the step: what goes on is no loop; the peer looks at arguments alone"),
    case("a passage ten times in one text", lambda run: [run.says("I need to check the configuration file for the correct path. " * 12)], True, "text_loop"),
    case("a table of equal rows", lambda run: [run.says("| --- | --- | --- | --- |\n" * 40)], False),
    # Roo Code and Cline
    case("the fourth identical call in a row", lambda run: ls(run, 4), True, "repetition"),
    case("identical calls with another between", lambda run: [*ls(run, 2), run.read("/w/a.py"), *ls(run, 2)], False),
    case("the same call but for its description", lambda run: [run.step("Bash", {"command": "ls", "description": f"look {n}"}, "a") for n in range(4)], False, "repetition",
         why="96 % of real Bash calls carry a free description; with it no loop is ever seen"),
    # stella
    case("three interleaved equal steps", lambda run: [one for n in range(3) for one in (run.bash("npm run lint", "clean"), run.edit("/w/a.ts"))], False),
    case("the same output of other searches six times", lambda run: [run.bash(f"grep -rn {word} src", "") for word in ("ab", "cd", "ef", "gh", "ij", "kl")], True,
         why="six searches without a hit are six questions; of 29 alarms of this rule on real sessions 28 were false"),
    # senpi and hermes
    case("six calls that differ in a flag and find the same", lambda run: [run.bash(f"grep -rn Token --include=*.py src lib -m {n}", "src/a.py:3: Token") for n in range(9)], True, "repetition"),
    case("a cycle of six calls three times", lambda run: cycle(run, 6, 3), True, "repetition", "no_progress"),
    # users' false alarms
    case("renaming files and updating imports", lambda run: [one for n in range(8) for one in (run.bash(f"git mv a{n}.py b{n}.py", ""), run.edit(f"/w/b{n}.py", "import a", "import b"))], False),
    case("one edit in many files", lambda run: [run.edit(f"/w/{n}.py", "old", "new") for n in range(20)], False),
    case("data worked through in batches", lambda run: [run.bash(f"python load.py --batch {n}", f"batch {n}: 100 rows") for n in range(20)], False),
    case("waiting for a build", lambda run: [run.bash("sleep 20; gh run view 7", "in progress") for _ in range(10)], False),
    case("sixteen different reads", lambda run: [run.read(f"/w/src/{n}.py") for n in range(16)], False),
    case("one file read page by page", lambda run: [run.read("/w/big.py", f"page {n}", offset=200 * n, limit=200) for n in range(12)], False),
    case("edit and test until it passes", lambda run: [one for n in range(4) for one in (run.edit("/w/a.py"), run.bash("pytest -q", f"{4 - n} failed, {n} passed in 0.1s", failed=n < 4))], False),
    case("output that says is_error: false", lambda run: [run.bash(f"cat log{n}.json", '{"is_error": false, "errors": 0}') for n in range(6)], False),
    case("reading for research, and nothing written", lambda run: [run.step("WebSearch", {"query": f"topic {n}"}, f"found {n}") for n in range(30)], False),
    case("siblings cancelled beside one that failed", lambda run: [run.bash(f"ls {n}", "Sibling tool call errored", failed=True, collateral=True) for n in range(10)], False),
    case("work committed inside the loop", lambda run: [one for n in range(6) for one in (run.edit("/w/a.py"), run.bash("git commit -am x", f"[main 1a2b3c{n}] x"))], False),
    # users' missed loops
    case("the same 404 for other ids", lambda run: [run.fails(f"curl -f http://localhost/items/{n}", f"curl: (22) error: 404 for item {n} (req_00{n}abc)") for n in range(5)], True, "repetitive_errors"),
    case("two near-identical greps for fifty minutes", lambda run: [run.bash(f"grep -n {'-i ' if n % 2 else ''}token src/a.py", "3: token") for n in range(40)], True, "repetition", "no_progress"),
    case("no two consecutive calls alike, none of them new", lambda run: [run.bash(f"cat {n * 7 % 5}.py", f"text {n * 7 % 5}") for n in range(60)], True, "repetition", "no_progress"),
    case("58 identical calls", lambda run: ls(run, 58), True, "repetition", "no_progress"),
    case("a word 14,645 times, and no tool call", lambda run: [run.says("court " * 14_645)], True, "text_loop"),
    case("the same denied command 110 times", lambda run: [run.bash("git push --force", "blocked: git.push-force rewrites what others have", refused=True, refused_by="gate") for _ in range(110)], True,
         "repetitive_errors", "repetition", "no_progress"),
    case("a person's refusals", lambda run: [run.bash(f"rm {n}", "The user doesn't want to proceed", refused=True, refused_by="person") for n in range(6)], False),
    case("a commit that waits for a signature", lambda run: fails(run, 3, "git commit -m x", "error: 1Password: failed to fill whole buffer\nfatal: failed to write commit object"), True,
         "blocked_on_human", "repetitive_errors"),
    case("listing many directories that all exist", lambda run: [run.bash(f"ls dir{n}", f"file{n}") for n in range(26)], True,
         why="26 listings that each show something new are exploration; wandering is judged over 60 looks and by going back"),
]  # fmt: skip


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
def test_a_peers_case_gives_our_verdict(one: Case) -> None:
    detectors = make_detectors(DetectorSettings(), Task("t", "", "/w"))
    observations = chain.from_iterable(one.steps(Run()))
    issues = [issue for observation in observations for detector in detectors for issue in detector.see(observation)]
    assert {issue.type for issue in issues if not issue.closed} == one.ours


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
def test_where_our_verdict_differs_from_a_peers_the_reason_is_given(one: Case) -> None:
    assert bool(one.ours) == one.peer or one.why
