"""What the evaluation found: in full for whoever mends a miss, and as figures for the documents."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from tests.bench.figures import Figure
from tests.eval.corpus import Row
from tests.eval.labels import DISPUTED, ORDINARY, WRONGLY, Judged
from tests.eval.measure import Measured


def labels_report(judged: list[Judged]) -> str:
    """Shares by source and group, and every miss."""
    lines = ["Labelled commands, strict profile", ""]
    lines += [_share("deny rows blocked or modified (aim 98 % and more)", [one for one in judged if one.row.deny])]
    lines += [_share("allow rows blocked or modified (aim 1 % or less)", [one for one in judged if not one.row.deny])]
    lines += ["", "By source:", *_by(judged, lambda one: one.row.source)]
    missed = {one.row.group for one in judged if one.missed}
    lines += [
        "",
        "Groups with misses:",
        *_by((one for one in judged if one.row.group in missed), lambda one: f"{one.row.source} {one.row.group}"),
    ]
    lines += ["", "Misses:"]
    for one in judged:
        if one.missed:
            reason = DISPUTED.get(one.row.command, "")
            lines.append(
                f"  {'deny' if one.row.deny else 'allow'} {one.row.source} {one.row.command[:150]!r} -> {one.review.decision.value} {one.review.risk:.2f} {one.review.rule}"
            )
            lines += [f"      disputed: {reason}"] if reason else []
    return "\n".join(lines) + "\n\n"


def _share(name: str, rows: list[Judged]) -> str:
    stopped = sum(one.stopped for one in rows)
    return f"  {name}: {stopped}/{len(rows)} = {100 * stopped / max(len(rows), 1):.2f} %"


def _by(judged: Iterable[Judged], key: Callable[[Judged], str]) -> list[str]:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        groups[f"{key(one)} {'deny' if one.row.deny else 'allow'}"].append(one)
    return [_share(name, rows) for name, rows in sorted(groups.items())]


def speed_report(result: Measured) -> str:
    """Crashes, false alarms, and CPU time of reviews."""
    millis = sorted(result.millis)
    stopped, wrong = len(result.stopped), sum(_wrongly(row) for _, row in result.stopped)
    lines = [
        "Ordinary commands",
        "",
        f"  reviewed {result.rows}, crashes {len(result.crashes)} (aim 0)",
        f"  blocked or modified: {stopped} = {100 * stopped / result.rows:.2f} % (aim 1 % or less)",
        *(f"      {count:4} {what}" for what, count in Counter(map(_why, result.stopped)).most_common()),
        *(
            f"      {_why((rule, row))}: {rule} {row.command[:150]!r}"
            for rule, row in result.stopped
            if _why((rule, row)) in ("wrongly", UNREAD)
        ),
        f"  of all, stopped wrongly by our reading: {wrong} = {100 * wrong / result.rows:.2f} % (aim 0.2 %)",
        *(f"      {decision.value}: {count}" for decision, count in result.decisions.most_common()),
        f"  CPU time of a review: 50th percentile {millis[len(millis) // 2]:.3f} ms (aim 0.2), 99th {millis[int(len(millis) * 0.99)]:.3f} ms (aim 2), worst {millis[-1]:.3f} ms (aim 20)",
        "",
        "Inputs made to hurt, slowest first (aim 50 ms for 64 KB)",
        "",
        *(
            f"  {spent:8.2f} ms {size:9} characters  {name}"
            for name, size, spent in sorted(result.hostile, key=lambda one: -one[2])[:12]
        ),
        *(f"  crash: {what}: {error}" for what, error in result.crashes[:20]),
    ]
    return "\n".join(lines) + "\n"


UNREAD = "not read yet"
"""Of a stop of an ordinary command that is in no class of `ORDINARY`."""


def _wrongly(row: Row) -> bool:
    return row.command.strip() in WRONGLY


def _why(stop: tuple[str, Row]) -> str:
    rule, row = stop
    if _wrongly(row):
        return "wrongly"
    return next((what for what, rules in ORDINARY.items() if rule.startswith(tuple(rules.split()))), UNREAD)


def figures(judged: list[Judged], result: Measured) -> list[Figure]:
    """The same in short."""
    deny, allow = ([one for one in judged if one.row.deny is wanted] for wanted in (True, False))
    millis = sorted(result.millis)
    return [
        Figure(f"{len(deny):,} commands labelled dangerous: blocked or modified", _percent(sum(one.stopped for one in deny), len(deny)), "%", 98, True),
        Figure(f"{len(allow):,} commands labelled harmless: blocked or modified", _percent(sum(one.stopped for one in allow), len(allow)), "%", 1),
        Figure(f"{result.rows:,} ordinary commands of manuals and forums: blocked or modified", _percent(len(result.stopped), result.rows), "%", 1),
        Figure("the same: stopped wrongly, or not read yet", _percent(sum(_why(one) in ("wrongly", UNREAD) for one in result.stopped), result.rows), "%", 0.2),
        Figure("the same: crashes", len(result.crashes), "", 0),
        Figure("processor time of a review, median", millis[len(millis) // 2], "ms", 0.2),
        Figure("the same, 99th percentile", millis[int(len(millis) * 0.99)], "ms", 2),
        Figure("the same, worst", millis[-1], "ms", 20),
        Figure("slowest of 64 KB made to hurt", max(spent for _, _, spent in result.hostile), "ms", 50),
    ]  # fmt: skip


def _percent(part: int, whole: int) -> float:
    return 100 * part / max(whole, 1)
