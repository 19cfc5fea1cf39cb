"""The command line, with less patience for a daemon that went away."""

from supervisor.cli.__main__ import main
from supervisor.cli.commands.work import run

if __name__ == "__main__":
    run.AWAY_SECONDS = 1.0
    main()
