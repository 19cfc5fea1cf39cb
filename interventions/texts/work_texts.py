"""Messages to an agent whose finished work goes back to it: a check failed, or the work disagrees with its target."""

from collections.abc import Sequence

LONGEST = 12_000
"""Characters of a message: three thousand tokens, of which the end of a check's output is most."""


def check_failed(command: str, how: str, output: str, left: Sequence[str] = ()) -> str:
    """Return the message after a check of finished work failed.

    Args:
        command: The check.
        how: How it ended. Example: `failed with exit code 1`.
        output: The end of its output.
        left: Processes that outlived it.
    """
    said = f"The last that it printed:\n\n{_fenced(output)}\n\n" if output else "It printed nothing.\n\n"
    outlived = f"It left processes running, which were ended: {', '.join(left)}.\n\n" if left else ""
    return _cut(
        f"You ended your turn, but the work is not done: its check `{command}` {how}.\n\n{said}{outlived}"
        "Find the cause and mend it; do not weaken the check. The same command is run again when your turn ends."
    )


def disagrees(branch: str, target: str, conflicts: Sequence[tuple[str, str, str]], more: int = 0) -> str:
    """Return the message after finished work could not be merged.

    Args:
        branch: The agent's branch.
        target: The branch that the work is meant for.
        conflicts: Of each path: its name, the difference as a sentence, and the lines of both sides.
        more: Number of further paths that are not among them.
    """
    parts = [f"{path}: {what}" + (f"\n{_fenced(lines)}" if lines else "") for path, what, lines in conflicts]
    if more:
        parts.append(f"And {more} more.")
    listed = "\n\n".join(parts)
    steps = (
        f"Merge {target} into your branch in this workspace (`git merge {target}`), resolve each conflict so that both "
        "intents hold, run the tests, and commit the merge. Do not undo what others did."
    )
    return _cut(
        f"Your work on {branch} is finished, but {target} has changed since, and the two disagree.\n\n{steps}\n\n{listed}"
    )


def not_committed(paths: int, branch: str) -> str:
    """Return the message after a turn that left work which is not committed, and so is not on the agent's branch."""
    what = "1 path is" if paths == 1 else f"{paths} paths are"
    return (
        f"Your work is to be merged from the branch {branch}, but {what} not committed (`git status` names them). "
        "Commit what belongs to the work, with a message that says why; remove or ignore what does not."
    )


def merged_check_failed(target: str, command: str, how: str, output: str) -> str:
    """Return the message after the check failed on the work as merged with its target.

    Args:
        target: The branch that the work is meant for.
        command: The check.
        how: How it ended.
        output: The end of its output.
    """
    said = f"The last that it printed:\n\n{_fenced(output)}\n\n" if output else ""
    return _cut(
        f"Your work passes its check alone, but not together with what {target} has got since: `{command}` {how} on the "
        f"merged files.\n\n{said}Merge {target} into your branch in this workspace (`git merge {target}`), mend the "
        "cause, and commit."
    )


def _fenced(text: str) -> str:
    return f"```\n{text.replace('```', '` ` `')}\n```"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
