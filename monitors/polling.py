"""Which calls wait for something: looking again is their point, so equal answers are no loop for a long while."""

import re
from collections.abc import Mapping
from typing import Any

POLLING_TOOLS = frozenset({"BashOutput", "TaskOutput", "AgentOutputTool", "Monitor", "KillShell"})
"""Tools that look at what runs in the background."""

_POLLING_COMMAND = re.compile(
    r"\bsleep\s+\d|\bwatch\s|\bwait\b|\btail\s+-f|(?:^|&&|;)\s*tail\s"
    r"|\bgh\s+(?:run|pr)\s+(?:checks|view|watch|list|status)|\bglab\s+ci|\bkubectl\s+(?:get|describe|rollout|logs)"
    r"|\bdocker(?:[ -]compose)?\s+(?:ps|logs|inspect)|\b(?:health|healthz|ready|readyz|status)\b"
    r"|\bps\s+(?:aux|-ef|-p)|\bpgrep\b|\bjobs\b|\bsystemctl\s+(?:status|is-active)|\bsqueue\b|\bnvidia-smi\b|\bterraform\s+show",
    re.IGNORECASE,
)

_WORDS = (
    "sleep", "watch", "wait", "tail", "gh ", "glab", "kubectl", "docker", "health", "ready", "status", "ps ", "pgrep", "jobs",
    "systemctl", "squeue", "nvidia-smi", "terraform",
)  # fmt: skip
"""One of these is in every command that the pattern matches; most commands have none, and the pattern is slow."""

_NOT_POLLING = re.compile(r"\bgit\s+status\b")


def is_polling(tool: str, call: Mapping[str, Any]) -> bool:
    """Whether this call looks at something that changes by itself."""
    if tool in POLLING_TOOLS or tool.endswith("wait_for"):
        return True
    command = call.get("command")
    if tool != "Bash" or not isinstance(command, str):
        return False
    shown = command[:1000].lower()
    return any(word in shown for word in _WORDS) and bool(_POLLING_COMMAND.search(_NOT_POLLING.sub("", shown)))
