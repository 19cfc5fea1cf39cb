"""The command line: `chaperon COMMAND …`."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from host.disk_errors import REFUSED, UNWRITABLE
from supervisor import __version__

COMMANDS = {
    "demo": "supervisor.cli.commands.policy.rehearse:demo",
    "serve": "supervisor.cli.commands.service.serve:serve",
    "run": "supervisor.cli.commands.work.run:run_command",
    "attach": "supervisor.cli.commands.work.attach:attach",
    "detach": "supervisor.cli.commands.work.attach:detach",
    "exec": "supervisor.cli.commands.work.exec_claude:exec_claude",
    "task": "supervisor.cli.commands.work.task:task",
    "submit": "supervisor.cli.commands.work.submit:submit",
    "ps": "supervisor.cli.commands.agents.agents:ps",
    "show": "supervisor.cli.commands.agents.agents:show",
    "diff": "supervisor.cli.commands.agents.diff:diff",
    "say": "supervisor.cli.commands.agents.agents:say",
    "pause": "supervisor.cli.commands.agents.agents:pause",
    "resume": "supervisor.cli.commands.agents.agents:resume",
    "stop": "supervisor.cli.commands.agents.agents:stop",
    "redirect": "supervisor.cli.commands.agents.agents:redirect",
    "drain": "supervisor.cli.commands.agents.drain:drain",
    "autopilot": "supervisor.cli.commands.agents.autopilot:autopilot",
    "rm": "supervisor.cli.commands.agents.removal:rm",
    "prune": "supervisor.cli.commands.agents.removal:prune",
    "forget": "supervisor.cli.commands.agents.removal:forget",
    "approvals": "supervisor.cli.commands.agents.approvals:approvals",
    "approve": "supervisor.cli.commands.agents.approvals:approve",
    "deny": "supervisor.cli.commands.agents.approvals:deny",
    "allow": "supervisor.cli.commands.agents.allowances:allow",
    "allowances": "supervisor.cli.commands.agents.allowances:allowances",
    "revoke": "supervisor.cli.commands.agents.allowances:revoke",
    "trust": "supervisor.cli.commands.policy.trust:trust",
    "recover": "supervisor.cli.commands.agents.approvals:recover",
    "checkpoints": "supervisor.cli.commands.agents.checkpoints:checkpoints",
    "checkpoint": "supervisor.cli.commands.agents.checkpoints:checkpoint",
    "rollback": "supervisor.cli.commands.agents.rollback:rollback",
    "budgets": "supervisor.cli.commands.agents.budgets:budgets",
    "discoveries": "supervisor.cli.commands.work.discoveries:discoveries",
    "merge": "supervisor.cli.commands.work.merge:merge",
    "tail": "supervisor.cli.streams:tail",
    "incidents": "supervisor.cli.streams:incidents",
    "review": "supervisor.cli.commands.policy.review:review",
    "explain": "supervisor.cli.commands.policy.review:explain_command",
    "rules": "supervisor.cli.commands.policy.review:rules",
    "outcome": "supervisor.cli.commands.policy.outcome:outcome",
    "replay": "supervisor.cli.commands.policy.replay:replay_command",
    "rehearse": "supervisor.cli.commands.policy.rehearse:rehearse",
    "notify": "supervisor.cli.commands.service.notify:notify",
    "top": "supervisor.top.command:top",
    "report": "supervisor.report.command:report",
    "panel": "supervisor.panel.command:panel",
    "dashboard": "supervisor.cli.commands.service.dashboard:dashboard",
    "keys": "supervisor.cli.commands.service.keys:keys",
    "doctor": "supervisor.cli.commands.service.doctor:doctor",
}
"""Every command and its module; a module is imported when its command runs, so that `ps` does not pay for `replay`."""

SAYS = {
    "demo": "Watch chaperon at work on a real CLI; nothing to configure.",
    "serve": "Run the daemon in the foreground.",
    "run": "Have something done by a new agent, and follow it.",
    "ps": "List agents at work, and those that ended lately.",
    "attach": "Put every Claude that you start here under watch.",
    "detach": "Take a settings file's hooks out again.",
    "exec": "Become the Claude CLI, under watch: exec -- claude …",
    "task": "Add, list, show and steer stored tasks, which agents claim.",
    "submit": "Add all tasks of a file, which may depend on one another.",
    "show": "Show what one agent is, did, and met.",
    "diff": "Show the content of what an agent changed.",
    "say": "Tell an agent something, or all of them.",
    "pause": "Hold an agent, or all, at the next tool call.",
    "resume": "Let a paused agent go on, or all.",
    "stop": "Stop an agent or all, step by step or at once.",
    "redirect": "Interrupt an agent and give it something else to do.",
    "drain": "Take no new tasks, or take them again.",
    "autopilot": "Leave the agents alone until an end or a budget.",
    "rm": "Remove what ended agents left, if nothing is lost.",
    "prune": "The same for all ended agents.",
    "forget": "Forget all that was written of an ended agent.",
    "approvals": "List the actions that wait for a person.",
    "approve": "Let an action that waits run.",
    "deny": "Turn an action that waits down.",
    "allow": "Let an agent do what would be blocked, for once or a while.",
    "allowances": "List what agents are allowed beyond the rules.",
    "revoke": "Take an allowance back.",
    "trust": "Show what a repository's settings bring, and let it count.",
    "recover": "List the ways back from a stop, or carry one out.",
    "checkpoints": "List checkpoints, show one, draw what changed since.",
    "checkpoint": "Keep the present of an agent's workspace under a name.",
    "rollback": "Go back to a checkpoint: files and conversation.",
    "budgets": "Show what is spent today by account, and what is left.",
    "discoveries": "List the facts that agents noted for others.",
    "merge": "List what waits to be merged, or merge an agent's branch.",
    "tail": "Print the journal.",
    "incidents": "Print what is worth a person's eye.",
    "review": "Review actions from standard input; no daemon is needed.",
    "explain": "Show how the review of a command comes about.",
    "rules": "List what the reviewer knows, or test it.",
    "outcome": "Say what became of an issue, and see what was learned.",
    "replay": "Run recorded sessions through today's rules, offline.",
    "rehearse": "Play a scenario to the real CLI under a policy.",
    "notify": "List the channels by which people are told, or try them.",
    "top": "Show all agents full screen, and steer them.",
    "report": "Say what agents did, what was stopped, and what it cost.",
    "panel": "Serve a panel for browsers: see and steer all agents.",
    "dashboard": "Print a dashboard for Grafana, of the metrics.",
    "keys": "Show which keys open encrypted records, or change them.",
    "doctor": "Say what works on this machine, and how to mend the rest.",
}
"""The line of `--help` for each command, without importing any: 0.06 s against a second to import all."""


ELSEWHERE = {
    "agents": "ps", "config": "doctor", "daemon": "serve", "events": "tail", "history": "tail", "kill": "stop",
    "list": "ps", "log": "tail", "logs": "tail", "ls": "ps", "start": "serve", "status": "ps", "tell": "say",
    "undo": "rollback", "web": "panel",
}  # fmt: skip
"""Names that other programs have for it, and the command that is meant."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command; one whose output, or a file of it, cannot be written says so and fails."""
        if Path(sys.argv[0]).name == "claude" and not args and not kwargs:  # a link that stands in for the CLI
            args = (["exec", "--", "claude", *sys.argv[1:]],)
        try:
            return super().main(*args, **kwargs)
        except (OSError, ExceptionGroup) as failed:
            error: BaseException = failed
            while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
                error = error.exceptions[0]
            if isinstance(error, OSError) and error.errno in REFUSED and error.filename:
                way_out = "Mend that (room, permissions, a file system that may be written), and ask again."
                click.echo(f"chaperon: {error.filename}: {error.strerror}. {way_out}", err=True)
                sys.exit(1)
            if not isinstance(error, OSError) or error.errno not in UNWRITABLE or error.filename:
                raise
            # The interpreter must not try to flush the rest again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            click.echo(f"chaperon: The output cannot be written: {error}. Make room, or print elsewhere.", err=True)
        sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run what is asked for to its end, and exit with its code."""
        from supervisor.cli import common  # which `--help` of all commands does without

        common.run(lambda: super(LazyGroup, self).invoke(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named; for a name that is none, the error says what may be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # which no command that is there needs

            near = get_close_matches(args[0], COMMANDS, n=2)
            meant = [ELSEWHERE[args[0]]] if args[0] in ELSEWHERE else near
            if not meant:
                raise
            named = " or ".join(f"chaperon {name}" for name in meant)
            raise click.UsageError(f"{error.message} Did you mean {named}?", error.ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list of commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SAYS[name]) for name in COMMANDS])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of that name."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", type=click.Path(), help="A configuration file, over the machine's and the user's.")
@click.version_option(__version__, prog_name="chaperon")
def main(config: str | None) -> None:  # noqa: ARG001 - `common.configuration` reads it from the context
    """Watch over Claude agents: review what they do before they do it, and answer when a run goes wrong."""
    if os.environ.get("NO_COLOR"):
        click.get_current_context().color = False


if __name__ == "__main__":
    main()
