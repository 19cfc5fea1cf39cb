"""The gateway's door: its socket for daemons, and the word by which it knows them.

Both sides need it, and the daemon nothing else of the other process: with that one's modules it took 1 MB more.
"""

import secrets
from contextlib import suppress
from pathlib import Path

CONTROL = "control"
"""Name of the socket for daemons."""


def token_of(folder: Path) -> str:
    """Return the word by which daemons are known to the gateway of a folder; both are made if they are not there.

    Blocks.

    Raises:
        OSError: They cannot be made or read.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "token"
    if not path.exists():
        made = folder / f"token.{secrets.token_hex(4)}"
        made.touch(mode=0o600)
        made.write_text(secrets.token_hex(32))
        with suppress(FileExistsError):  # another process was first, and its word counts
            path.hardlink_to(made)
        made.unlink()
    return path.read_text().strip()
