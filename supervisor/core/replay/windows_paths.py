r"""Recordings from Windows, with their paths as Unix has them: reviewer and detectors know no drives.

`D:\shop\src` and `D:/shop/src` become `/d/shop/src`, as Git Bash writes it. Homes lose the drive, `/Users/ann`, and the
directory for scratch becomes `/tmp`, so that they are known for what they are.
"""

import re
from typing import Any

from supervisor.protocol.claude.messages import Json

_WHOLE = re.compile(r"^([A-Za-z]):([\\/].*)", re.DOTALL)
_WITHIN = re.compile(r"(?<![\w/\\])([A-Za-z]):((?:[\\/]+[^\\/\s\"'`|<>:*?;,()]*)+)")
_SLASHES = re.compile(r"[\\/]+")
_HOMES = re.compile(r"(?<![\w/.])/[a-z](?=/Users/)")
_TEMP = re.compile(r"(?<![\w/.])/Users/[^/\s]+/AppData/Local/Temp(?![\w.])")

_PATHS = frozenset({"cwd", "file_path", "notebook_path", "path"})
"""Fields that hold one path, blanks and all."""


def is_windows(cwd: str) -> bool:
    """Whether a working directory is one of Windows."""
    return _WHOLE.match(cwd) is not None


def posix(field: str, value: str) -> str:
    """A field of a call with its paths as Unix has them: one that is a path, or a command with paths in it."""
    if field not in _PATHS | {"command"}:
        return value
    pattern = _WHOLE if field in _PATHS else _WITHIN
    written = pattern.sub(lambda found: f"/{found[1].lower()}{_SLASHES.sub('/', found[2])}", value)
    return _TEMP.sub("/tmp", _HOMES.sub("", written))  # noqa: S108 - named, never written


def posix_frame(frame: Json) -> Json:
    """A line of the CLI with the paths of its calls as Unix has them."""
    message = frame.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return frame
    return {**frame, "message": {**message, "content": [_posix_block(block) for block in message["content"]]}}


def _posix_block(block: Any) -> Any:
    if not isinstance(block, dict) or not isinstance(call := block.get("input"), dict):
        return block
    fields = {field: posix(field, value) if isinstance(value, str) else value for field, value in call.items()}
    return {**block, "input": fields}
