"""Searches for inputs that take a review long: pieces of shell and code, repeated and mixed, in what runs or writes them.

usage: python -m tests.eval.slow [--inputs 500] [--seed 1]

The slowest found go into `hostile.py` once they are mended. Times are of the processor, the best of three.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from itertools import islice

from monitors.contract.actions import Action, ReviewContext, Reviewer
from monitors.review import make_reviewer
from monitors.review.knowledge.book import PROGRAMS
from tests.eval.hostile import PIECES
from tests.eval.test_commands import commands

SIZE = 65_536
"""Length of the inputs, in characters."""
MIXED = (
    "rm -rf x; ", "git push --force; ", "curl -d @a x | sh; ", "system(\"ls\"); ", "exec(", "a = a + 'x'\n", "f(x) ", "{\"a\": \"b c\"}, ", "- run: ls\n", "a: b\n", "\t@echo $(A)\n", "$(shell ls) ",
    "{\"rm\",\"-rf\",", "execv(", "new String[]{", "\"ls\".! ", "select 1; ", "system ls; ", "\\! ls\n", "--a=b ", "-ab ", "./a.sh ", "/etc/passwd ", "a@b:c ", "x=(a b); ", "${x[@]:1} ", "for a in b c; do ", "done; ", "read a b <<< c; ", "xargs -I{} ", "getopts a: b; ",
    "#!/bin/sh\n", "import os\n", "os.system('ls'); ", "open('/etc/x','w'); ", "\\x41", "\\", "=", ",", ".", "%", "@", ":", "[", "]", "<", "\t",
)  # fmt: skip
"""Pieces beside those of `hostile.py`."""
AROUND = (
    "{}", "python3 -c '{}'", "python3 - <<'X'\n{}\nX", "perl -e '{}'", "node -e '{}'", "psql -c '{}'", "mysql -e '{}'", "sqlite3 a.db '{}'", "awk '{}'", "sed '{}' a", "tclsh <<'X'\n{}\nX", "gcc -x c - <<'X'\n{}\nX",
    "bash -c '{}'", "sh <<'X'\n{}\nX", "cat > .gitlab-ci.yml <<'X'\n{}\nX", "cat > Makefile <<'X'\n{}\nX\nmake", "cat > package.json <<'X'\n{}\nX", "cat > x.tf <<'X'\n{}\nX", "cat > configure.ac <<'X'\n{}\nX", "cat > .vscode/tasks.json <<'X'\n{}\nX", "cat > composer.json <<'X'\n\"scripts\" {}\nX",
    "cat > a.c <<'X'\n{}\nX\ngcc a.c", "cat > s <<'X'\n{}\nX\nssh -F s x", "git config alias.x '{}'", "npm pkg set scripts.x='{}'", "gh alias set x '!{}'", "make CC='{}'", "ssh host '{}'", "docker run x sh -c '{}'", "find . -exec sh -c '{}' \\;", "echo '{}' | base64 -d | sh", "xargs -I% sh -c '{}'", "x='{}'; eval \"$x\"",
)  # fmt: skip
"""What the pieces stand in."""
LINES = (
    "rm -rf x@", "echo a@ > f@", "cat f@ | grep b@ | sort > g@", "ln -s a@ b@", "mv a@ b@", "cd d@ && make t@", "bash -c 'rm a@'", "docker exec c@ rm a@", "ssh h@ 'rm -rf x@'", "scp a@ h@:/b@", "find a@ -name b@ -delete", "$(a@)",
    "os.remove('a@')", "x@ = ['rm', 'a@']; subprocess.run(x@)", "p@ = Path('a@') / 'b@'", "x = x + 'a@'", "fs.unlinkSync('a@')", "unlink 'a@';", "`rm a@`", '["rm", "a@"],', "system('rm a@')", "def f@(): f@()", "a@",
)  # fmt: skip
"""Lines that differ from each other by a number, so that nothing of one is known of the next."""
FILES = ("Makefile", "package.json", ".github/workflows/a.yml", "conftest.py", "a.sh", ".git/hooks/pre-commit", "Dockerfile", "a.c", "a.ts", "a.rb", "build.gradle", ".claude/commands/a.md", "Justfile", "a.ipynb")  # fmt: skip
"""Files that others run or build."""
COMMANDS = tuple(text for heading in commands().values() for text in heading if "\n" not in text)
KNOWN = tuple(name for program in PROGRAMS for name in program.names.split())
"""Names of the programs that the reviewer knows."""


def calls(seed: int) -> Iterator[Action]:
    """Yield calls of tools without an end, the same for the same seed: commands, files written, fields of a server."""
    chance, texts = random.Random(seed), inputs(seed)
    while True:
        if chance.random() < 0.6:
            command = next(texts) if chance.random() < 0.6 else _numbered(chance)
            yield Action("Bash", {"command": command}, "/w", "/w")
            continue
        line, file = chance.choice(LINES), chance.choice(FILES)
        lines = [line.replace("@", str(at)) for at in range(SIZE // (len(line) + 12))]
        if chance.random() < 0.3:
            steps = [{"cmd": each} for each in lines]
            yield Action("mcp__a__do", {"steps": steps}, "/w", "/w")
        elif file == "package.json":
            scripts = {f"s{at}": each for at, each in enumerate(lines)}
            yield Action("Write", {"file_path": f"/w/{file}", "content": json.dumps({"scripts": scripts})}, "/w", "/w")
        else:
            before = {"Makefile": "t{}:\n\t", "Justfile": "t{}:\n  ", "Dockerfile": "RUN "}.get(file, "")
            before = "  - run: " if file.endswith(".yml") else "!`" if file.endswith(".md") else before
            after = "`" if file.endswith(".md") else ""
            text = "\n".join(before.format(at) + each + after for at, each in enumerate(lines))
            yield Action("Write", {"file_path": f"/w/{file}", "content": text[:SIZE]}, "/w", "/w")


def _numbered(chance: random.Random) -> str:
    """Return a known command given as often as is gone through, or a known program with as many words as are read."""
    if chance.random() < 0.5:
        known = chance.choice(COMMANDS)
        return "\n".join(f"{known} a{at}" for at in range(300))[:SIZE]
    word = chance.choice(("a@", "/a/b@", "../a@", "~/.a@", "-a@", "a@=b", "$A@", "*.a@", "http://h@/"))
    return f"{chance.choice(KNOWN)} " + " ".join(word.replace("@", str(at)) for at in range(1_900))


def inputs(seed: int) -> Iterator[str]:
    """Yield commands without an end; the same for the same seed."""
    chance = random.Random(seed)
    pieces = (*PIECES, *MIXED)
    while True:
        unit = "".join(chance.choices(pieces, k=chance.randint(1, 4)))
        lead = chance.choice(("", "", *chance.choices(pieces, k=2)))
        body = lead + unit * (SIZE // len(unit) + 1)
        if chance.random() < 0.3:
            half = "".join(chance.choices(pieces, k=2))
            body = body[: SIZE // 2] + half * (SIZE // len(half) + 1)
        around = chance.choice(AROUND)
        yield around.format(body[: SIZE - len(around)])


def spent(reviewer: Reviewer, action: Action) -> float:
    """Return the milliseconds that a review takes, the best of three if it is slow."""
    best = 1e9
    for _ in range(3):
        began = time.thread_time_ns()
        reviewer.review(action, ReviewContext(home="/home/a"))
        best = min(best, (time.thread_time_ns() - began) / 1e6)
        if best < SLOW:
            break
    return best


SLOW = 30.0
"""Milliseconds from which on an input is named, below the aim of 50."""


def main() -> int:
    """Search and print what is slow, worst first."""
    parser = argparse.ArgumentParser(prog="python -m tests.eval.slow")
    parser.add_argument("--inputs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    reviewer, found = make_reviewer(), list[tuple[float, str]]()
    for action in islice(calls(asked.seed), asked.inputs):
        took = spent(reviewer, action)
        if took >= SLOW:
            found.append((took, " ".join(map(str, (action.tool, *action.input.values())))))
    for took, text in sorted(found, reverse=True)[:40]:
        sys.stdout.write(f"{took:7.1f} ms  {text[:110]!r}\n")
    sys.stdout.write(f"{asked.inputs:,} inputs of seed {asked.seed}: {len(found)} of {SLOW:g} ms or more\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
