"""The start of a daemon with a user apart from that of its agents."""

import os
import pwd
from collections.abc import MutableMapping

from host import identity
from host.children import ChildCommand, run_child
from monitors.contract.errors import ChaperonError

TRIAL_SECONDS = 10.0
"""How long the trial may take; it takes 2 ms."""

START = "Start it by the service chaperon-apart@: docs/how-to/operate.md."


class KeptApartError(ChaperonError):
    """The daemon cannot keep apart from its agents; it does not start."""


OWN = "chaperon-"
"""The beginning of the name of chaperon's own user for a person. Each has another one: a daemon, with the code that its
person added, does not reach the record of another."""


def keep_apart(person: str, environ: MutableMapping[str, str]) -> None:
    """Become the daemon of a person, whose agents run as that person, and take over the person's environment.

    Raises:
        KeptApartError: That cannot be, or what the daemon starts would not be kept apart.
    """
    try:
        known, own = _account(person), _account(OWN + person)
        identity.take(own, known)
        tried = ChildCommand(
            argv=["id", "-u"],
            environment={"PATH": os.defpath},
            seconds=TRIAL_SECONDS,
            output_bytes=20,
            users=identity.as_own,
        )
        kept = run_child(tried).output.strip() == b"%d" % known.user
    except identity.IdentityError as error:
        raise KeptApartError(f"{error} The daemon was not started.", way_out=START) from error
    except OSError as error:
        what = f"This process could not become the daemon of {person} ({error}), and was not started."
        raise KeptApartError(what, way_out=f"It takes root, with CAP_SETUID and CAP_SETGID. {START}") from error
    if not kept:
        raise KeptApartError(
            "This kernel takes the person's user from each program that the daemon starts; it was not started.",
            way_out="Have Linux 6.17 or newer, or no NoNewPrivileges= and SystemCallFilter= in the unit.",
        )
    entry = pwd.getpwnam(person)
    path = f"{environ.get('PATH', os.defpath)}:{entry.pw_dir}/.local/bin"
    for name in [name for name in environ if name.startswith("XDG_")]:
        del environ[name]
    environ.update(HOME=entry.pw_dir, USER=person, LOGNAME=person, SHELL=entry.pw_shell, PATH=path)
    from checkpoints.git.effective_user import ask_as_effective_user  # libgit2 looks for HOME as it is loaded

    ask_as_effective_user()


def _account(name: str) -> identity.Account:
    try:
        found = pwd.getpwnam(name)
    except KeyError as error:
        raise KeptApartError(f"There is no user {name!r}; the daemon was not started.", way_out=START) from error
    return identity.Account(found.pw_uid, found.pw_gid, tuple(os.getgrouplist(name, found.pw_gid)))
