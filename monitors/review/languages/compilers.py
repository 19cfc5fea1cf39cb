"""Compilers: code that the action itself writes and has compiled is read as what it would run.

What stands on the disk is not: sources name paths and delete files of their own, and most of them are the project's.
"""

from collections.abc import Iterator

from monitors.contract.expressions import later
from monitors.review.languages.code import others
from monitors.review.languages.code.loops import starts_itself
from monitors.review.languages.code.uses import MAX_CODE, Uses, bounded
from monitors.review.languages.project.named_files import Files
from monitors.review.shell.invocation import Invocation

COMPILERS = frozenset({
    "gcc", "cc", "c99", "c11", "clang", "tcc", "g++", "c++", "clang++", "gccgo", "gdc", "gfortran", "gnatmake", "rustc",
    "ghc", "nim", "zig", "swiftc", "javac", "java", "kotlinc", "scalac", "dmd", "rdmd", "ldc2", "fpc", "go", "crystal",
    "dart", "csc", "mcs", "dotnet", "csi", "fsi", "groovyc", "gnat", "idris2", "lean", "gleam", "roc", "mojo", "haxe", "v", "odin", "hare", "cython", "ocamlc", "ocamlopt", "ocamlfind", "nvcc", "emcc", "mlton", "valac",
})  # fmt: skip
"""Programs that compile the files that they are given, or run them at once."""
_SOURCES = (
    ".c", ".cc", ".cpp", ".cxx", ".h", ".m", ".mm", ".d", ".f90", ".adb", ".rs", ".hs", ".nim", ".zig", ".swift", ".java",
    ".kt", ".kts", ".scala", ".pas", ".go", ".cr", ".dart", ".cs", ".v", ".odin", ".ha", ".pyx", ".ml", ".cu", ".sml", ".vala",
)  # fmt: skip
MAX_SOURCES = 20
"""Most sources of one command that are read."""
_TEXT = r"\"(?:[^\"\\\n]|\\.){0,2000}\""
_TEXTS = rf"{_TEXT}(?:\s?,\s?{_TEXT}){{0,30}}"
_EXECL = later(rf"\bexecl[pe]{{0,2}}\s?\(\s?({_TEXT})\s?,\s?{_TEXT}((?:\s?,\s?{_TEXT}){{0,30}})")
_EXECV = later(r"\b(?:execvp?e?|posix_spawnp?|fexecve)\b")
_LIST = later(rf"\{{\s?({_TEXTS})")
_ONE_TEXT = later(rf"(?<!\\){_TEXT}")


def compiled_uses(invocation: Invocation, own: Files) -> Uses | None:
    """Return the effects of the code that a compiler is given; None if there is none, or it is not known.

    Args:
        invocation: The compiler.
        own: The text of a file that the action itself has written, if it is known.
    """
    if invocation.name not in COMPILERS:
        return None
    text = "\n".join(filter(None, _texts(invocation, own)))
    if not text:
        return None
    code = text[:MAX_CODE]
    uses = others.uses_of(code)
    scripts = [*uses.scripts, *_replaced(code)]
    found = Uses(scripts=scripts, deletes=uses.deletes, hidden=uses.hidden, cut=uses.cut, runs=bool(scripts))
    found.writes = [path for path in uses.writes if path.startswith("/dev/")]
    found.bomb = starts_itself(code)
    bounded(found, text)
    return found if found.bomb or found.writes or found.scripts or found.deletes or found.hidden or found.cut else None


def _texts(invocation: Invocation, own: Files) -> Iterator[str]:
    named = [word for word in invocation.args if word.known and word.endswith(_SOURCES)]
    for word in named[:MAX_SOURCES]:
        yield own(invocation, word) or ""
    if {"-", "/dev/stdin"}.intersection(invocation.args):
        yield invocation.input.text or ""


def _replaced(code: str) -> Iterator[str]:
    """Yield the commands by which a program of C replaces itself: a list of texts, in the call or in braces."""
    for match in _EXECL.finditer(code):
        yield _line([match[1], *_ONE_TEXT.findall(match[2])])
    if _EXECV.search(code):
        for match in _LIST.finditer(code):
            yield _line(_ONE_TEXT.findall(match[1]))


def _line(texts: list[str]) -> str:
    words = [text[1:-1].replace('\\"', '"') for text in texts]
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
