"""The systemd units that come with chaperon, filled in for where it is installed."""

from pathlib import Path

from supervisor.protocol.errors import NotFoundError

UNITS = (
    "chaperon.service",
    "chaperon.socket",
    "chaperon@.service",
    "chaperon@.socket",
    "chaperon.tmpfiles.conf",
)
"""All files, by name."""

_PACKAGE = Path(__file__).parent.parent

PLACES = (_PACKAGE / "units", _PACKAGE.parent / "systemd")
"""Where the files are: in an installed package, and in a checkout."""


def unit_text(name: str) -> str:
    """Return a unit as it is shipped.

    Raises:
        NotFoundError: Where there is no such unit.
    """
    for place in PLACES:
        if name in UNITS and (place / name).is_file():
            return (place / name).read_text()
    raise NotFoundError(f"There is no unit {name!r}.", way_out=f"There are: {', '.join(UNITS)}.")


def render_unit(name: str, command: str) -> str:
    """Return a unit whose ExecStart= names a given command, so that no PATH has to be right.

    Args:
        name: Which.
        command: Absolute path of `chaperon`. Example: `/home/ada/.local/bin/chaperon`.

    Raises:
        NotFoundError: Where there is no such unit.
    """
    # A percent sign begins a specifier and a dollar sign a variable; doubled they are themselves (systemd.service(5)).
    quoted = command.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return "".join(
        f'ExecStart="{quoted}" serve\n' if line.startswith("ExecStart=") else line
        for line in unit_text(name).splitlines(keepends=True)
    )
