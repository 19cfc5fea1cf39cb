"""The command about the keys by which records are encrypted."""

import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from supervisor.cli import common
from supervisor.cli.output import terminal

if TYPE_CHECKING:
    from supervisor.runtime.protection.keys import KeyNote

RECOVERY_BYTES = 32
"""Of a recovery key: 256 bits, beyond all trying."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    add: str
    recovery: bool
    rotate: bool


@click.command()
@click.option(
    "--add", metavar="SOURCE", default="", help="Have another key open the records too; as `audit.key` names."
)
@click.option("--recovery", is_flag=True, help="Make a recovery key, and print it once: it is kept nowhere.")
@click.option("--rotate", is_flag=True, help="Encrypt with a new key from the next start on; other slots go.")
@common.json_option
def keys(add: str, recovery: bool, rotate: bool, as_json: bool) -> None:
    """Show which keys open the encrypted records of this user, or change them.

    Records are sealed with data keys, which are never shown. The key that `audit.key` names opens them, and so does
    each key that was added. No daemon is needed, and one that runs goes on undisturbed.

    To change the named key: --add the new one, name it in `audit.key`, start the daemon again, and say --rotate: from
    the next start on the old one opens nothing that is written. With the recovery key in a file of mode 600, and that
    named in `audit.key`, a daemon whose key was lost starts again.
    """
    if sum((bool(add), recovery, rotate)) > 1:
        raise click.UsageError("Say one of --add, --recovery and --rotate.")
    _keys(_Wanted(add, recovery, rotate), as_json=as_json)


def _keys(wanted: _Wanted, *, as_json: bool) -> None:
    from monitors.contract.errors import UsageError
    from supervisor.runtime.clock import Clock
    from supervisor.runtime.protection.keys import ProtectionKey, add_slot, named_key, read_note, rotate_keys

    state, source, made = common.here().state, common.setting("audit.key"), ""
    note = read_note(state)
    if wanted.add or wanted.recovery or wanted.rotate:
        common.refuse_agents()
        if not source:
            raise UsageError(
                "The key of records lies beside them, in the state directory. Nothing was changed.",
                way_out="Make one elsewhere (openssl rand -hex 32), name it in audit.key, and set audit.encrypt.",
            )
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = named_key(source, os.environ, Clock())
        if wanted.rotate:
            note = rotate_keys(state, key)
        elif wanted.add:
            note = add_slot(state, key, named_key(wanted.add, os.environ, Clock()))
        else:
            made = secrets.token_hex(RECOVERY_BYTES)
            note = add_slot(state, key, ProtectionKey(made.encode()), recovery=True)
    if as_json:
        shown = {"key": note.key, "slots": list(note.slots), "recovery": note.recovery, "recovery_key": made}
        terminal.echo_json(shown)
        return
    terminal.echo("\n".join(_account(note)))
    if made:
        terminal.echo(f"The recovery key, which is shown now and kept nowhere:\n{made}")


def _account(note: "KeyNote") -> list[str]:
    if not note.slots:
        return ["Records are not encrypted: no key has a slot. See audit.encrypt."]
    about = {note.recovery: "the recovery key", note.key: "the key in use"}
    return [f"{name}  {about.get(name, 'another key')}" for name in note.slots]
