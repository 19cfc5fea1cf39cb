"""The reader held against bash: which commands does bash run that the reviewer does not see?

Scripts are grown from a grammar and then damaged. Bash runs each in a subshell with one command, `M`, that says that it
ran; the reviewer's walk must have met it, or must have said that it did not go through the script. `python -m
tests.eval.fuzz --cases 1000000` is the long run; the tests run a few thousand cases.
"""

import argparse
import os
import random
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from monitors.review.knowledge.book import LAUNCHERS
from monitors.review.shell.invocation import Invocation
from monitors.review.shell.launch import LauncherBook
from monitors.review.shell.walk import Walk

BATCH = 200
"""Scripts that one process of bash runs."""
WHOLE = 10
"""One script in so many is gone through to its end, which shows errors; the others to where the command is met."""
SECONDS = 20.0
"""Longest time that a batch may take; a script that waits for ever ends its batch, which is then run one by one."""
ALONE_SECONDS = 2.0
"""The same for one script, and for what the scripts of a batch left in the background."""
KEEPER = r"""
/bin/bash --norc --noprofile -c "$1" fuzz "$2" "$3" </dev/null &
exec {HELD}>&-
read -r
kill -KILL 0
"""
"""Starts the driver, and ends it with all that is in its process group once its own input ends.

Its input is a pipe that this program holds, so that it ends however this program does.
"""
STEP = 0.25
"""Time between two looks whether a batch is through, in seconds."""
DRIVER = r"""
exec 8<"$1" 9>>"$2"
shift 2
M() { printf '%s\n' "$N" >&9; }
N=0
while IFS= read -r -d '' S <&8; do
  N=$((N + 1))
  ( exec 8<&-; eval -- "$S" ) </dev/null >/dev/null 2>&1
done
echo end >&9
"""
"""Runs the scripts of one file, parted by NUL; the number of each that ran `M` is appended to another, and `end`."""

Rule = Callable[["Grower"], str]


@dataclass
class Grower:
    """Grows scripts out of a source of chance."""

    chance: random.Random
    depth: int = 0

    def pick(self, *rules: Rule | str) -> str:
        """Grow one of the alternatives; deep within a script only plain texts."""
        plain = [rule for rule in rules if isinstance(rule, str)]
        chosen = self.chance.choice(plain if self.depth > DEEPEST and plain else rules)
        if isinstance(chosen, str):
            return chosen
        self.depth += 1
        grown = chosen(self)
        self.depth -= 1
        return grown

    def command(self) -> str:
        """A command of any kind."""
        if self.depth > DEEPEST:
            return self.chance.choice(("M", "echo a", ":"))
        return self.pick(
            "M", "M a", "echo a", ":", "x=a", "x=1 M", "M >a", "M 2>&1", "M # c", "! M", "time M", "{ M; }", "(M)",
            "eval M", "builtin eval 'M'", "command eval M", "return", "exit",
            lambda g: f"echo {g.word()}",
            lambda g: f"x={g.word()}; {g.command()}",
            lambda g: f"x=({g.word()} {g.word()}); {g.command()}",
            lambda g: f"declare {g.chance.choice(('', '-a ', '-i '))}x={g.word()}; {g.command()}",
            lambda g: f"{{ {g.command()}; {g.command()}; }}",
            lambda g: f"( {g.command()} )",
            lambda g: f"if {g.command()}; then {g.command()}; else {g.command()}; fi",
            lambda g: f"case {g.word()} in {g.chance.choice(('a', '(a', '*', 'a|b', '(*'))}) {g.command()};; esac",
            lambda g: f"for i in {g.word()}; do {g.command()}; done",
            lambda g: f"for i in a\ndo {g.command()}\ndone",
            lambda g: f"[[ {g.word()} == {g.word()} ]] && {g.command()}",
            lambda g: f"[[ a =~ (a|b) ]] && {g.command()}",
            lambda g: f"(( 1 + 1 )); {g.command()}",
            lambda g: f"let 'x=1'; {g.command()}",
            lambda g: f"f{g.depth}() {{ {g.command()}; }}; f{g.depth}",
            lambda g: f"r{g.depth}() {{ {g.command()}; return{g.chance.choice(('', ' 1', ' $x', ' >a', ' <b'))}; {g.command()}; }}; r{g.depth}",
            lambda g: f"function g{g.depth} {{ {g.command()}; }}\ng{g.depth}",
            lambda g: f"cat <<E\n{g.data()}\nE\n{g.command()}",
            lambda g: f"cat <<'E'\n{g.data()}\nE\n{g.command()}",
            lambda g: f"cat <<-E\n\t{g.data()}\n\tE\n{g.command()}",
            lambda g: f"cat <<\"E F\"\n{g.data()}\nE F\n{g.command()}",
            lambda g: f"cat <<A <<B\n{g.data()}\nA\n{g.data()}\nB\n{g.command()}",
            lambda g: f"cat <<< {g.word()}; {g.command()}",
            lambda g: f"{g.command()} | {g.command()}",
            lambda g: f"{g.command()} |& {g.command()}",
            lambda g: f"{g.command()} && {g.command()}",
            lambda g: f"{g.command()} || {g.command()}",
            lambda g: f"{g.command()}; {g.command()}",
            lambda g: f"{g.command()}\n{g.command()}",
            lambda g: f"{g.command()} & wait",
            lambda g: f"x[$({g.command()})]=a; {g.command()}",
            lambda g: f"(( x[$({g.command()})] ))",
            lambda g: f"let 'x[$({g.chance.choice(('M', 'echo a', 'M a'))})]=1'",
            lambda g: f"x='a[$({g.chance.choice(('M', 'echo a'))})]'; {g.chance.choice(('((x))', '[[ x -eq 1 ]]', 'echo $((x))', 'let x', 'declare -i y=x', 'echo ${z:x}'))}",
            lambda g: f"{g.chance.choice(('unset', 'read', 'printf -v', 'test -v', '[[ -v'))} 'x[$(M)]' {g.chance.choice(('', ']]', 'a'))}",
            lambda g: f"while {g.command()}; do {g.command()}; break; done",
            lambda g: f"until {g.command()}; do break; done",
            lambda g: f"select i in a; do {g.command()}; break; done <<< 1",
            lambda g: f"exec 3< <({g.command()}); {g.command()}",
            lambda g: f"x=<({g.command()}) {g.command()}",
            lambda g: f"x=$({g.command()}) {g.command()}",
            lambda g: f"mapfile -t x <<< {g.quoted('M')}; \"${{x[@]}}\"",
            lambda g: f". <(echo {g.quoted('M')})",
            lambda g: f"bash() {{ :; }}; alias m={g.quoted('M')}; {g.command()}",
            lambda g: f"trap {g.quoted('M')} EXIT",
            lambda g: f"eval {g.quoted('M')}",
            lambda g: f"coproc {{ {g.command()}; }}; wait",
            lambda g: f"printf -v x {g.word()}; {g.command()}",
            lambda g: f"read x <<< {g.word()}; {g.command()}",
            lambda g: "x=M; " + g.chance.choice(("$x", "${x}", '"$x"', "${x:-a}", "eval $x", "${!y:-$x}")),
            lambda g: "x=(a M); " + g.chance.choice(("${x[1]}", '"${x[@]:1}"', "${x[-1]}", "eval ${x[1]}")),
            lambda g: "set -- M; " + g.chance.choice(("$1", '"$@"', "$*", "eval $1")),
        )  # fmt: skip

    def word(self) -> str:
        """A word with whatever may stand in one."""
        return self.pick(
            "a", "''", '""', "'a b'", '"a b"', "$'a\\n'", "$x", "${x}", '"$x"', "~", "*", "{a,b}", "a\\ b", "\\$x",
            "${x:-a}", "${#x}", "${x//a/b}", "${x#*}", "$((1+1))", "$((x))", "a#b", "=", "a=b", "@(a|b)", "-n",
            lambda g: f"$({g.command()})",
            lambda g: f"$( {g.command()} )",
            lambda g: f"\"$({g.command()})\"",
            lambda g: f"`{g.flat()}`",
            lambda g: f"\"a `{g.flat()}` b\"",
            lambda g: f"${{x:-{g.word()}}}",
            lambda g: f"\"${{x:-{g.word()}}}\"",
            lambda g: f"${{x:+{g.word()}}}",
            lambda g: f"${{x/{g.chance.choice('ab')}/{g.word()}}}",
            lambda g: f"${{x:={g.word()}}}",
            lambda g: f"$(( $({g.command()}) + 1 ))",
            lambda g: f"$(( (1+1) ))$({g.command()})",
            lambda g: f"<({g.command()})",
            lambda g: f"{g.word()}{g.word()}",
            lambda g: f"${{x[$({g.command()})]}}",
            lambda g: f"$[ $({g.command()}) ]",
        )  # fmt: skip

    def flat(self) -> str:
        """A command without backticks of its own."""
        return self.command().replace("`", "").replace("\\", "")

    def data(self) -> str:
        """A line of a here-document."""
        return self.pick(
            "a", "$x", "M", "'", '"', "(", ")", "#", "$", "\\$(M)", "E a", " E", "${x:-a}",
            lambda g: f"$({g.command()})",
            lambda g: f"a `{g.flat()}` \"$({g.command()})\"",
            lambda g: f"'$({g.command()})'",
            lambda g: f"${{x:-$({g.command()})}}",
        )  # fmt: skip

    def quoted(self, text: str) -> str:
        """A text that is run later, quoted in one of the ways."""
        return self.chance.choice((f"'{text}'", f'"{text}"', f"$'{text}'", text, f"\\{text}", f"{text}''", f"''{text}"))


DEEPEST = 7
"""Deepest nesting that is grown."""
_DAMAGE = ("'", '"', "`", "(", ")", "$", "\\", "\n", ";", "#", " ", "{", "}", "<<E\n", "|", "&", "$(", "${", "M", "E\n", "\\\n", "=", "!", "[", "]", "*", "x", "<", "((", "))", "\t", "~")  # fmt: skip


def script(chance: random.Random) -> str:
    """Grow one script, half of the time with some damage."""
    grown = Grower(chance).command()
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 3))):
        at, kind = chance.randint(0, len(grown)), chance.random()
        if kind < 0.5:
            grown = grown[:at] + chance.choice(_DAMAGE) + grown[at:]
        elif kind < 0.8:
            grown = grown[:at] + grown[at + 1 :]
        else:
            grown = grown[:at] + grown[chance.randint(0, len(grown)) :]
    return grown


def scripts(seed: int) -> Iterator[str]:
    """Grow scripts without end that may run the command, and that neither wait nor define it."""
    chance = random.Random(seed)
    while True:
        grown = script(chance)
        if "M" in grown and "\0" not in grown and "M()" not in grown and "M ()" not in grown and len(grown) < 2_000:
            yield grown


# ── bash ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_by_bash(each: Sequence[str], seconds: float = SECONDS) -> set[int]:
    """Return the indexes of the scripts of which bash ran the command.

    A batch that takes too long is run again, one script at a time; of a script that waits for ever it is not known.
    """
    with tempfile.TemporaryDirectory() as place:
        box, source, sink = Path(place, "box"), Path(place, "scripts"), Path(place, "ran")
        box.mkdir()
        source.write_bytes(b"".join(one.encode() + b"\0" for one in each))
        sink.touch()
        last, held = os.pipe()  # at its end once the driver and all that its scripts left in the background have ended
        keeper = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile", "-c", KEEPER, "fuzz", DRIVER, str(source), str(sink)],
            cwd=box,
            env={"PATH": "/nonexistent", "LC_ALL": "C.UTF-8", "HELD": str(held)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[held],
            start_new_session=True,
        )
        os.close(held)
        try:
            ended = _ended(last, sink, seconds)
        finally:
            keeper.communicate()
            os.close(last)
        if not ended and len(each) > 1:
            alone = (run_by_bash([one], ALONE_SECONDS) for one in each)
            return {at for at, ran in enumerate(alone) if ran}
        return {int(line) - 1 for line in sink.read_bytes().split() if line.isdigit()}


def _ended(last: int, sink: Path, seconds: float) -> bool:
    """Wait until a batch has ended, and for a while for what it left in the background; False if it takes too long."""
    for _ in range(int(seconds / STEP)):
        if select.select([last], [], [], STEP)[0]:
            return True
        if sink.read_bytes().endswith(b"end\n"):
            select.select([last], [], [], ALONE_SECONDS)
            return True
    return False


# ── the reviewer ──────────────────────────────────────────────────────────────────────────────────────────────────────

_LAUNCHERS = LauncherBook(LAUNCHERS)


class _Met(Exception):  # noqa: N818 — not an error: the way to stop at the first
    """Enough was seen."""


class _Watched(list[Invocation]):
    """The commands of a walk, which ends at the first that `seen` asks for."""

    def append(self, one: Invocation) -> None:
        """Note a command."""
        if _meets(one):
            raise _Met


def _meets(one: Invocation) -> bool:
    """Whether it is the command, or runs what is said not to be known."""
    if one.name == "m" or (
        one.program and not (one.program.known and (not one.program.glob or one.program[:1] == "["))
    ):
        return True
    if one.name not in (".", "source", "eval"):
        return False
    return not all((word.known and not word.glob) or word[:2] == "<(" for word in one.args) or (
        one.name != "eval"
        and any(not given.known or given.glob for word in one.args for by in word.source for given in by.args)
    )


def seen(text: str, *, whole: bool = True) -> bool:
    """Whether the reviewer met the command, a program that it says it does not know, or a bound that blocks.

    Args:
        text: The script.
        whole: Whether it goes on behind the first of these, as it does in a review.
    """
    walk = Walk(cwd="/w", variables={"HOME": "/home/ann"}, launchers=_LAUNCHERS, code=lambda _invocation: [])
    if not whole:
        walk.invocations = _Watched()
    try:
        walk.script(text)
    except _Met:
        return True
    finally:
        walk.let_go()
    return bool(walk.too_much) or any(map(_meets, walk.invocations))


GAPS = {
    "a redirection that fails: what its builtin would have set stays as it was": re.compile(
        r"\b(?:mapfile|readarray|read|set)\b[^\n;|&]*<\s*[^\s<(&][^\n;|&]*<<<|\bset\b[^\n;|&<]*<\s*[^\s<(&]"
    ),
}
"""What the reader does not know and is not to guess, with how its scripts are told from others.

Whether a file is there is known when the command runs, so both readings would be needed of all that follows.
"""


def known_gap(text: str) -> str:
    """Return the reason why the command in the script is not seen, if it is one of those listed; else nothing."""
    return next((reason for reason, told_by in GAPS.items() if told_by.search(text)), "")


def unseen(each: Iterable[str]) -> Iterator[str]:
    """Yield the scripts of which bash runs the command and the reviewer does not see it."""
    rest = iter(each)
    while batch := list(islice(rest, BATCH)):
        missing = {at for at, text in enumerate(batch) if not seen(text, whole=at % WHOLE == 0)}
        if missing:
            suspects = [batch[at] for at in sorted(missing)]
            ran = run_by_bash(suspects)
            yield from (suspects[at] for at in sorted(ran))


def shortened(text: str) -> str:
    """Return a shorter script that is unseen as well, for people to read."""
    tried = 0
    at = 0
    while at < len(text) and tried < 200:
        shorter = text[:at] + text[at + 1 :]
        tried += 1
        if "M" in shorter and not seen(shorter) and run_by_bash([shorter], ALONE_SECONDS):
            text = shorter
        else:
            at += 1
    return text


def main(argv: Sequence[str] | None = None) -> int:
    """Run many cases, and print what is unseen."""
    parser = argparse.ArgumentParser(prog="python -m tests.eval.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="how many scripts")
    parser.add_argument("--seed", type=int, default=1, help="where chance begins")
    wanted = parser.parse_args(argv)
    found, listed = 0, 0
    for text in unseen(islice(scripts(wanted.seed), wanted.cases)):
        reason = known_gap(text)
        found, listed = found + 1, listed + bool(reason)
        print(f"  {reason or 'not listed'}: {shortened(text)!r}", flush=True)
    print(
        f"{wanted.cases:,} scripts from seed {wanted.seed}: bash ran a command that was not seen in {found}, "
        f"{listed} of them of the known gaps"
    )
    return 1 if found > listed else 0


if __name__ == "__main__":
    sys.exit(main())
