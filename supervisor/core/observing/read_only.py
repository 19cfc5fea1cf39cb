"""Actions that change nothing, by their kind: these never wait for a checkpoint.

The test errs on the safe side: an action that is not known to be read-only may change something.
"""

import re

from monitors.contract.actions import Action, Review

READERS = frozenset(
    {"Read", "Grep", "Glob", "LS", "NotebookRead", "TodoWrite", "TodoRead", "WebSearch", "WebFetch", "ToolSearch",
     "BashOutput", "TaskOutput", "AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "ListAgents", "ReportFindings",
     "ScheduleWakeup", "CronList"}
)  # fmt: skip
"""Tools of the CLI that leave the workspace as it is."""

READING_PROGRAMS = frozenset(
    {"ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "rg", "pwd", "cd", "echo", "printf", "stat", "file",
     "which", "type", "whoami", "id", "date", "uname", "hostname", "true", "false", "test", "sleep", "sort", "uniq",
     "cut", "tr", "diff", "cmp", "du", "df", "ps", "basename", "dirname", "realpath", "readlink", "nl", "sha256sum",
     "md5sum"}
)  # fmt: skip
"""Programs that only print, whatever their arguments; `sort -o` and redirections are looked for apart."""

READING_GIT = frozenset({"status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "describe", "shortlog"})

_PARTS = re.compile(r"\|\||&&|[;|\n]")
_WRITES = re.compile(r"[`]|\$\(|<\(|>(?!\s*/dev/null|&\d)|(?<![&>])&(?![&\d>])|\s-o\b|--output")
"""Parts that may hide another command, write a file or leave one running."""


def only_reads(action: Action, review: Review) -> bool:
    """Whether the action leaves the workspace as it is for certain."""
    if any(effect.type != "network" for effect in review.side_effects):
        return False
    if action.tool != "Bash":
        return action.tool in READERS
    given = action.input if review.updated_input is None else review.updated_input
    command = given.get("command")
    if not isinstance(command, str) or given.get("run_in_background") or _WRITES.search(command):
        return False
    return all(_reads(part.split()) for part in _PARTS.split(command) if part.strip())


def _reads(words: list[str]) -> bool:
    if words[0] == "git":
        return len(words) > 1 and words[1] in READING_GIT
    if words[0] == "find":
        return not any(word.startswith(("-exec", "-ok", "-delete", "-fprint", "-fls")) for word in words)
    return words[0] in READING_PROGRAMS
