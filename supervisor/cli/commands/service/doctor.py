"""The command that says what works on this machine, and how to mend the rest."""

import os
import pwd
from pathlib import Path

import click

from supervisor.cli import common
from supervisor.cli.output import terminal

INDENT = 18
"""Characters before what a finding says."""

COLOURS = {True: "green", None: "white", False: "red"}


@click.command()
@common.json_option
def doctor(as_json: bool) -> int:
    """Say what works here (CLI, git, control groups, socket, disk, service manager), and how to mend what does not."""
    # Here and not above: looking needs the runtime, which `--help` should not pay for.
    from supervisor.runtime import doctor as checks

    uid = os.geteuid()
    named = click.get_current_context().find_root().params.get("config")
    around = checks.DoctorContext(os.environ, uid, pwd.getpwuid(uid).pw_name, Path(named) if named else None)
    findings = []
    for finding in checks.examined(around):  # a line once it is known: some checks take long
        findings.append(finding)
        if as_json:
            continue
        mark = click.style(f"{checks.MARKS[finding.ok]:<4}", fg=COLOURS[finding.ok])
        first, *more = [line for says in finding.says.splitlines() for line in terminal.wrapped(says, INDENT)] or [""]
        terminal.echo(f"{mark}{finding.name:<{INDENT - 4}}{first.strip()}")
        for line in (*more, *terminal.wrapped(f"-> {finding.mend}" if finding.mend else "", INDENT)):
            terminal.echo(line)
    if as_json:
        terminal.echo_line(checks.as_json(findings).rstrip())
    return 0 if checks.healthy(findings) else common.FAILED
