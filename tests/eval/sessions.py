"""Transcripts as lists of lines, and healthy ones made to order."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CWD = "/home/ann/shop"
PROMPT = (
    "The cart shows wrong totals when a discount code is used. Find out why in src/cart/, mend it, cover it with tests, "
    "and run the whole test suite before you commit."
)


class Writer:
    """Writes the lines of a transcript as the CLI does: one block a line, a result line for each call.

    Args:
        cwd: Where the session runs.
        seed: Makes the ids.
    """

    def __init__(self, cwd: str = CWD, seed: int = 0) -> None:
        self.lines: list[bytes] = []
        self._cwd = cwd
        self._random = random.Random(seed)
        self._clock = 0

    def asks(self, text: str) -> None:
        """A person's words."""
        self._line("user", {"role": "user", "content": text})

    def says(self, text: str, **usage: int) -> None:
        """The model's words."""
        self._reply([{"type": "text", "text": text}], usage)

    def step(self, tool: str, call: dict[str, Any], text: str, *, failed: bool = False, **usage: int) -> None:
        """A call and its result."""
        id_ = self._id("toolu")
        self._reply([{"type": "tool_use", "id": id_, "name": tool, "input": call}], usage)
        block = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}
        self._line("user", {"role": "user", "content": [block]}, toolUseResult=text if failed else {"stdout": text})

    def bash(self, command: str, text: str, *, failed: bool = False, **usage: int) -> None:
        """A shell command, with the free-text description that nearly all real ones have."""
        shown = f"Exit code 1\n{text}" if failed else text
        call = {
            "command": command,
            "description": self._random.choice(("Look again", "Check", "Try once more", "Run it")),
        }
        self.step("Bash", call, shown, failed=failed, **usage)

    def read(self, path: str, text: str = "") -> None:
        """A file read."""
        self.step("Read", {"file_path": path}, text or "\n".join(f"{n:6}→{path} line {n}" for n in range(1, 30)))

    def edit(self, path: str, old: str, new: str) -> None:
        """A file edited."""
        self.step(
            "Edit",
            {"file_path": path, "old_string": old, "new_string": new},
            f"The file {path} has been updated successfully.",
        )

    def write(self, path: str, content: str) -> None:
        """A file created."""
        self.step("Write", {"file_path": path, "content": content}, f"File created successfully at: {path}")

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._random.getrandbits(80):020x}"

    def _reply(self, content: list[dict[str, Any]], usage: dict[str, int]) -> None:
        counted = {
            "input_tokens": 4,
            "cache_creation_input_tokens": 900,
            "cache_read_input_tokens": 30_000,
            "output_tokens": 120,
            **usage,
        }
        self._line("assistant", {"id": self._id("msg"), "role": "assistant", "content": content, "usage": counted})

    def _line(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        self._clock += self._random.randint(1, 9)
        hours, rest = divmod(self._clock, 3600)
        common = {"sessionId": "s", "cwd": self._cwd, "version": "2.1.49", "uuid": self._id("u"), "isSidechain": False}
        stamp = f"2026-02-{1 + hours // 24:02}T{hours % 24:02}:{rest // 60:02}:{rest % 60:02}.000Z"
        self.lines.append(json.dumps({"type": kind, "message": message, "timestamp": stamp, **common, **more}).encode())


def healthy(seed: int, steps: int = 60) -> list[bytes]:
    """A run that does its task in the ordinary way: looks, edits, tests that fail and then pass, commits, and so on."""
    rng, writer = random.Random(seed), Writer(seed=seed)
    writer.asks(PROMPT)
    passed = rng.randint(20, 60)
    for number in range(steps):
        part = rng.choice(("cart", "cart", "cart", "discount", "checkout", "totals"))
        path = f"{CWD}/src/cart/{part}_{number % 17}.py"
        match rng.randint(0, 9):
            case 0 | 1:
                writer.read(
                    path,
                    "\n".join(
                        f"{n:6}→    {part}_{rng.randint(0, 9999)} = total({n})" for n in range(1, rng.randint(10, 60))
                    ),
                )
            case 2:
                writer.bash(
                    f"grep -rn {part}_{number} src/cart tests",
                    f"src/cart/{part}.py:{number}: def {part}_{number}(cart):",
                )
            case 3:
                writer.step(
                    "Grep",
                    {"pattern": f"def {part}_{number}", "path": f"{CWD}/src"},
                    f"Found 2 files\nsrc/cart/{part}.py\ntests/test_{part}.py",
                )
            case 4 | 5 | 6:
                writer.edit(path, f"    return total - {number}", f"    return total - discount_{rng.randint(0, 999)}")
            case 7:
                broken = rng.random() < 0.3
                passed += rng.randint(0, 2)
                summary = f"{'2 failed, ' if broken else ''}{passed} passed in {rng.uniform(0.5, 4):.2f}s"
                dots = "".join("." if rng.random() > 0.02 else "s" for _ in range(passed))
                writer.bash("pytest -q", f"{dots}\n{summary}", failed=broken)
                if broken:
                    writer.edit(path, "    wrong", "    right")
                    passed += 2
                    writer.bash("pytest -q", f"{dots}\n{passed} passed in 1.20s")
            case 8:
                writer.bash(
                    f"git add -A && git commit -m 'Mend {part} {number}'",
                    f"[main {rng.getrandbits(28):07x}] Mend {part} {number}\n 2 files changed",
                )
            case 9:
                writer.says(f"The {part} total is taken before the discount in step {number}; I will move it behind.")
                writer.read(path)
    writer.says("The totals are right now, and the whole suite passes.")
    return writer.lines


def stored(directory: Path) -> Iterator[tuple[str, list[bytes]]]:
    """The recordings below a directory, each with its path relative to it, in order."""
    for path in sorted(directory.rglob("*.jsonl")):
        yield str(path.relative_to(directory)), path.read_bytes().splitlines()
