"""Script files as programs of their own: `sh deploy.sh prod` and `. ./deploy.sh prod` both run `deploy.sh prod`."""

from monitors.review.languages.interpreters import INTERPRETERS, Interpreter
from monitors.review.shell.invocation import Arg, Invocation, Setting
from monitors.review.shell.shells import shell_use

_INTERPRETERS = {
    name: interpreter
    for interpreter in INTERPRETERS
    if not (interpreter.first or interpreter.every)
    for name in interpreter.names.split()
}
"""Interpreters whose first operand is a file."""

_SUBCOMMANDS = frozenset({"run", "exec"})
"""Words before the file, with interpreters that have sub-commands. Example: `deno run deploy.ts`."""


def as_program(invocation: Invocation) -> Invocation | None:
    """Return the script file that the invocation runs by a shell or an interpreter, as if started itself.

    None if there is none.
    """
    words = _file_and_arguments(invocation)
    if not words:
        return None
    setting = Setting(invocation.cwd, invocation.via, invocation.elevated, invocation.inside, invocation.depth)
    return Invocation(words[0], words[1:], setting, assignments=invocation.assignments, stdin=invocation.input)


def _file_and_arguments(invocation: Invocation) -> list[Arg]:
    args = invocation.args
    if invocation.name in (".", "source"):
        return args
    use = shell_use(invocation)
    if use is not None:
        if use.file is None or use.text is not None:
            return []
        at = next((at for at, word in enumerate(args) if word is use.file), None)
        return [use.file] if at is None else args[at:]
    interpreter = _INTERPRETERS.get(invocation.name)
    at = None if interpreter is None else _operand(interpreter, args)
    return [] if at is None else args[at:]


def _operand(interpreter: Interpreter, args: list[Arg]) -> int | None:
    """Return the index of the first operand that is no sub-command.

    None if code is given in an option, or a module by `-m`.
    """
    codes, values = interpreter.code.split(), interpreter.values.split()
    at = 0
    while at < len(args):
        word = args[at]
        if word in codes or word == "-m":
            return None
        if word[:1] == "-":
            at += 2 if word in values else 1
        elif word in _SUBCOMMANDS:
            at += 1
        else:
            return at
    return None
