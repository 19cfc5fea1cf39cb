"""The effects of a piece of code, as far as its text shows."""

import re
from dataclasses import dataclass, field

MAX_CODE = 20_000
"""Longest code examined, in characters; longer code blocks. Python's own parser takes 2 ms for 1,000."""
FED = "runs what it is fed"
"""Said of code that runs its own input: as bad as where that comes from."""
MAX_SCRIPTS = 250
"""Most shell scripts taken out of one piece of code."""
MAX_DELETES = 500
"""Most paths that one piece of code deletes and a review looks at: each takes 15 us."""


@dataclass(slots=True)
class Uses:
    """Effects found in code. Lists of texts, in order of appearance."""

    scripts: list[str] = field(default_factory=list)
    """Shell scripts that it runs."""
    deletes: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    """Paths that it moves elsewhere."""
    reads: list[str] = field(default_factory=list)
    """Every path among its texts."""
    connects: bool = False
    listens: bool = False
    runs: bool = False
    """Whether it starts other programs at all."""
    hidden: str = ""
    """Code that it runs and that cannot be read: decoded, downloaded, or assembled."""
    files: dict[str, str | None] = field(default_factory=dict)
    """Texts of the files that it writes, None if not known, by path."""
    folder: str = ""
    """The directory that it goes to before it runs programs; empty if it stays."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that it sets for what it starts."""
    at_home: bool = False
    """Whether a store or server of this machine is among the operands of its calls."""
    imports: set[str] = field(default_factory=set)
    """Libraries that it uses."""
    bomb: bool = False
    """Whether it starts itself, or takes memory, over and over."""
    leaks: bool = False
    """Whether it sends the whole environment away."""
    secret: str = ""
    """The variable named as a secret whose value it sends away; empty if there is none."""
    sends: bool = False
    """Whether it sends something away."""
    looping: int = 0
    """How many loops over what is not known, or is long, are gone through just now."""
    writes_to_many: bool = False
    """Whether it sends mail or messages in a loop."""
    cut: str = ""
    """The part of it that was not read, as a phrase; empty if all was. Example: `code of more than 20000 steps`."""
    length: int = 0
    """Characters of the code, where it was gone through as such; of dense Python more, as it takes longer."""

    @property
    def paths(self) -> int:
        """How many paths were found, each of which is judged."""
        return len(self.deletes) + len(self.writes) + len(self.moves) + len(self.reads)


def bounded(found: Uses, code: str) -> None:
    """Keep no more of what was found than a review goes through, and say what of the code was not read."""
    if len(code) > MAX_CODE:
        found.cut = f"code of more than {MAX_CODE} characters"
    elif len(found.scripts) > MAX_SCRIPTS:
        found.cut = f"code that runs more than {MAX_SCRIPTS} scripts"
    elif len(found.deletes) > MAX_DELETES:
        found.cut = f"code that deletes more than {MAX_DELETES} paths"
    found.length = max(found.length, min(len(code), MAX_CODE))
    del found.scripts[MAX_SCRIPTS:], found.deletes[MAX_DELETES:]


WHOLE_ENVIRONMENT = re.compile(
    r"\bos\.environ\b(?!\s*\[|\s*\.(?!items|copy|values))|\bgetenv\(\s*\)|\bENV\.(?:each|map|select|to_a|inspect)\b|\bos\.Environ\(\)|\bSystem\.getenv\(\s*\)|\bprocess\.env\b(?!\s*[.\[])|%ENV\b|\bENV\.to_h"
)
"""The whole environment, and not one variable of it."""
