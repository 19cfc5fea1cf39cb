"""The command line: `chaperon COMMAND …`."""

import click

from supervisor import __version__
from supervisor.cli import agents, streams
from supervisor.cli.doctor import doctor
from supervisor.cli.rehearse import demo, rehearse
from supervisor.cli.run import run_command
from supervisor.cli.serve import serve


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", type=click.Path(), help="A configuration file, over the machine's and the user's.")
@click.version_option(__version__, prog_name="chaperon")
def main(config: str | None) -> None:
    """Watch over Claude agents: review what they do before they do it, and answer when a run goes wrong."""


for command in (
    demo,
    serve,
    run_command,
    agents.ps,
    agents.show,
    agents.say,
    agents.pause,
    agents.resume,
    agents.stop,
    agents.redirect,
    streams.tail,
    streams.incidents,
    rehearse,
    doctor,
):
    main.add_command(command)

if __name__ == "__main__":
    main()
