"""The command that lists the notification channels, and tests them."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from monitors.contract.errors import ChaperonError, NotFoundError
from supervisor.cli import common
from supervisor.cli.output import terminal

if TYPE_CHECKING:
    from supervisor.runtime.incidents.notifications import ChannelSettings


@click.command()
@click.argument("names", nargs=-1, metavar="[CHANNEL]...")
@click.option(
    "--test", "test_", is_flag=True, help="Send a message through each of them, or through those that are named."
)
@common.json_option
def notify(names: tuple[str, ...], test_: bool, as_json: bool) -> int:
    """List the channels that notify people; with --test, send a message through them.

    They report incidents, and actions that wait for a person.

    The configuration is read anew for that, as a daemon would read it that is started now; no daemon is needed. The
    exit code is 1 if a channel did not take its message.
    """
    config = common.configuration().config
    # Here and not above: what sends takes long to import, which `--help` should not pay for.
    from supervisor.runtime.assembly.settings import channels

    found = {channel.name: channel for channel in channels(config)}
    for name in names:
        if name not in found:
            raise NotFoundError(f"There is no channel {name!r}.", way_out=f"There are: {', '.join(found) or 'none'}.")
    wanted = [found[name] for name in names or found]
    told = list(_sent(wanted) if test_ else map(_described, wanted))
    if as_json:
        terminal.echo_json(told)
    elif not told:
        terminal.echo("No channel is configured: see notify.channels in the configuration.")
    else:
        for each in told:
            terminal.echo(_line(each))
    return common.FAILED if any(each.get("problem") for each in told) else 0


def _described(channel: "ChannelSettings") -> dict[str, Any]:
    """Return the description of a channel; its address, which may hold a password, is never shown."""
    return {
        "channel": channel.name,
        "min_severity": str(channel.min_severity),
        "approvals": channel.approvals,
        "stops": channel.stops,
    }


def _sent(wanted: list["ChannelSettings"]) -> Iterator[dict[str, Any]]:
    from supervisor.runtime.clock import Clock
    from supervisor.runtime.incidents.notifications import send_test

    for channel in wanted:
        if sys.stderr.isatty():
            terminal.echo(f"chaperon: sending through {channel.name} …", err=True)
        try:
            send_test(channel, Clock().wall())
        except ChaperonError as error:
            yield {"channel": channel.name, "sent": False, "problem": str(error)}
        else:
            yield {"channel": channel.name, "sent": True, "problem": ""}


def _line(each: dict[str, Any]) -> str:
    if "sent" in each:
        return f"{each['channel']:<16} {'sent' if each['sent'] else each['problem']}"
    also = ", ".join(
        what for what, told in (("actions that wait", each["approvals"]), ("every stop", each["stops"])) if told
    )
    return f"{each['channel']:<16} incidents from {each['min_severity']} on{f', {also}' if also else ''}"
