"""How often the detectors alarm on healthy sessions, how many injected troubles they see, and how soon.

    python -m tests.eval.patterns DIRECTORY_OF_TRANSCRIPTS [--episodes N] [--quiet]

Each alarm on the sessions as they are is listed with its evidence, for a person to judge. Without a directory, made-up
healthy sessions are used.
"""

import argparse
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from monitors.contract.observations import Observation
from monitors.detectors import DetectorSettings, make_detectors
from supervisor.core.replay.transcript_replay import Replay, recorded_task, replay
from tests.eval.inject import EPISODES, Injected, inject
from tests.eval.peers import RULES, Peers
from tests.eval.sessions import healthy, stored

Session = tuple[str, list[bytes]]


@dataclass
class Recall:
    """How many episodes of one pattern were seen, and after how many of their calls."""

    episodes: int = 0
    seen: int = 0
    steps: list[int] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        steps = sorted(self.steps)
        middle = statistics.median(steps) if steps else 0
        late = steps[min(len(steps) - 1, int(0.9 * len(steps)))] if steps else 0
        missed = f"   missed: {dict(self.missed)}" if self.missed else ""
        return f"{self.seen}/{self.episodes} = {self.seen / max(1, self.episodes):6.1%}   steps until seen: median {middle:g}, 90th percentile {late}{missed}"


def run(lines: list[bytes], watch: Callable[[Observation], None] | None = None) -> Replay:
    """Replay one session through all detectors."""
    return replay(lines, None, make_detectors(DetectorSettings(), recorded_task(lines)), watch)


def false_alarms(
    sessions: Iterable[Session], say: Callable[[str], None]
) -> tuple[dict[str, set[str]], dict[str, set[str]], int]:
    """Return the sessions in which each pattern, and each peer's rule, spoke, and the number of sessions."""
    ours: dict[str, set[str]] = defaultdict(set)
    theirs: dict[str, set[str]] = defaultdict(set)
    total = 0
    for name, lines in sessions:
        total += 1
        peers = Peers()
        for seen in run(lines, peers.see).issues:
            if not seen.issue.closed:
                ours[seen.issue.type].add(name)
                sentence = " ".join(seen.issue.sentence.split())[:240]
                say(
                    f"  {name[:12]} line {seen.at_event}: {seen.issue.type} ({seen.issue.severity}): {sentence} {seen.issue.evidence[-5:]}"
                )
        for rule, places in peers.spoke.items():
            if places:
                theirs[rule].add(name)
    return ours, theirs, total


def recall(sessions: list[Session], episodes: int) -> tuple[dict[str, Recall], dict[str, Counter[str]]]:
    """Inject so many episodes of each pattern and return what was seen, by us and by each peer's rule."""
    found: dict[str, Recall] = defaultdict(Recall)
    theirs: dict[str, Counter[str]] = defaultdict(Counter)
    for pattern in EPISODES:
        for seed in range(episodes):
            _, lines = sessions[(seed * 7919) % len(sessions)]
            injected = inject(lines, pattern, seed)
            peers = Peers()
            result = run(injected.lines, peers.see)
            _score(found[pattern], pattern, injected, result)
            for rule, places in peers.spoke.items():
                theirs[rule][pattern] += any(injected.first <= place <= injected.last for place in places)
    return found, theirs


def _score(score: Recall, pattern: str, injected: Injected, result: Replay) -> None:
    score.episodes += 1
    places = [
        seen.at_event
        for seen in result.issues
        if seen.issue.type == pattern and not seen.issue.closed and injected.first <= seen.at_event <= injected.last
    ]
    if places:
        score.seen += 1
        score.steps.append(sum(1 for mark in injected.calls if mark <= places[0]))
    else:
        score.missed[injected.kind] += 1


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--episodes", type=int, default=40, help="episodes injected of each pattern")
    parser.add_argument("--quiet", action="store_true", help="do not list each alarm")
    options = parser.parse_args()
    sessions = (
        list(stored(options.directory)) if options.directory else [(f"made up {n}", healthy(n, 120)) for n in range(20)]
    )
    say: Callable[[str], None] = (lambda _: None) if options.quiet else print

    say("Alarms on the sessions as they are:")
    ours, theirs, total = false_alarms(sessions, say)
    alarmed = set().union(*ours.values()) if ours else set()
    print(f"\n{total} sessions, {len(alarmed)} with an alarm ({len(alarmed) / max(1, total):.1%})")
    for pattern, names in sorted(ours.items()):
        print(f"  {pattern:24} {len(names):4} sessions ({len(names) / total:.1%})")
    print("peers' naive rules on the same sessions")
    for rule in RULES:
        print(f"  {rule:44} {len(theirs.get(rule, ())):4} sessions ({len(theirs.get(rule, ())) / total:.1%})")

    print(f"\nInjected, {options.episodes} episodes of each pattern")
    found, of_peers = recall(sessions, options.episodes)
    for pattern, score in found.items():
        print(f"  {pattern:24} {score}")
    print("peers' naive rules on the same episodes: repetition, repetitive_errors, no_progress")
    for rule in RULES:
        shares = (
            of_peers[rule][pattern] / options.episodes for pattern in ("repetition", "repetitive_errors", "no_progress")
        )
        print(f"  {rule:44} " + "  ".join(f"{share:6.1%}" for share in shares))


if __name__ == "__main__":
    main()
