"""The command that says what works on this machine, and how to mend the rest."""

import os
import pwd
from pathlib import Path

import click

from supervisor.cli import common, terminal


@click.command()
@common.json_option
def doctor(as_json: bool) -> None:
    """Say what works here (CLI, git, control groups, socket, disk, service manager), and how to mend what does not."""
    # Here and not above: looking needs the runtime, which `--help` should not pay for.
    from supervisor.runtime import doctor as checks

    def work() -> int:
        uid = os.getuid()
        named = click.get_current_context().find_root().params.get("config")
        around = checks.Surroundings(os.environ, uid, pwd.getpwuid(uid).pw_name, Path(named) if named else None)
        findings = checks.examine(around)
        terminal.echo(checks.as_json(findings).decode() if as_json else checks.as_text(findings))
        return 0 if checks.healthy(findings) else common.FAILED

    common.run(work)
