"""The command to examine a repository's settings, and the question of `run` about them."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from supervisor.cli import common
from supervisor.cli.client import Client, connect
from supervisor.cli.client_errors import NoDaemonError, RefusedError
from supervisor.cli.output import terminal
from supervisor.cli.output.settings_words import WORDS, summed
from supervisor.cli.output.words import clean

if TYPE_CHECKING:
    from supervisor.runtime.journal.verification import CheckedRecord

Shown = dict[str, Any]
"""The daemon's report on a repository's settings."""


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=".")
@click.option("--accept", is_flag=True, help="Let what is listed count for agents that are started from now on.")
@click.option("--revoke", is_flag=True, help="Let nothing of the repository's count any more.")
@click.option("--programs", is_flag=True, help="Instead show the programs and code that the configuration has run.")
@click.option("--record", is_flag=True, help="Instead check the whole journal, and show its last line and its key.")
@common.json_option
def trust(directory: Path, accept: bool, revoke: bool, programs: bool, record: bool, as_json: bool) -> int:
    """Show what the settings of the repository at DIRECTORY bring into the CLIs of agents, and whether it counts.

    The CLI runs hooks, MCP servers and other programs of `.claude/settings.json`, `.mcp.json` and the like without
    asking. For agents they are off until a person has looked at them and said --accept. That holds for the list as it
    is: if it changes, or a script of the repository that it names, it is off again. Agents that run keep their settings
    of the start.

    With --programs it is about chaperon's own configuration: plugins, hooks and other keys that name programs. The
    first start trusts what is there; what changes later is run once a person says --accept.

    With --record it is about the journal: each line is checked with the key that signs it, and the last one is shown
    with its hash, by which a copy elsewhere can be compared. --accept believes the lines as they are, and signs those
    to come with the present key; the daemon must be down for that.
    """
    if accept and revoke:
        raise click.UsageError("Say --accept or --revoke.")
    if (programs or record) and revoke:
        raise click.UsageError("--revoke is for repositories; programs are taken out of the configuration.")
    if record:
        return _check_record(accept=accept, as_json=as_json)
    where = str(directory.absolute())

    def look(daemon: Client) -> None:
        shown: Shown = daemon.get("/v1/trust", directory=where)
        digests = _digests(shown) if accept else {"digest": "", "hooks_digest": ""}
        if revoke or any(digests.values()):
            shown = daemon.post("/v1/trust", {"directory": where, "granted": accept, **digests})
        terminal.answer(shown, lambda: described(shown), as_json=as_json)

    def look_at_programs(daemon: Client) -> None:
        shown: Shown = daemon.get("/v1/trust/programs")
        if accept:
            shown = daemon.post("/v1/trust/programs", {"digest": shown["digest"]})
        terminal.answer(shown, lambda: told_of_programs(shown), as_json=as_json)

    do = look_at_programs if programs else look
    try:
        daemon = common.daemon()
    except NoDaemonError:
        _by_ourselves(do)
    else:
        do(daemon)
    return 0


def _check_record(*, accept: bool, as_json: bool) -> int:
    import os

    from supervisor.runtime.journal.lock import take_state_directory
    from supervisor.runtime.journal.signing import Signing
    from supervisor.runtime.journal.verification import verify

    here = common.here()
    source = common.setting("audit.signing_key")
    signing = Signing(here.state, source, os.environ.get("CREDENTIALS_DIRECTORY", ""))
    if accept:
        with take_state_directory(here.state):
            signing.accept(verify(here.journal, None).n)
    found = verify(here.journal, signing.known())
    terminal.answer(asdict(found), lambda: told_of_record(found), as_json=as_json)
    return 1 if found.problem else 0


def told_of_record(found: "CheckedRecord") -> Iterator[str]:
    """Yield what a check of the journal found, in sentences for a person."""
    signed = f"signed with the key {found.key} from line {found.since + 1} on" if found.key else "not signed"
    yield f"The journal has {found.n} lines that are as they were written, {signed}."
    if found.n:
        yield f"The last one has the hash {found.hash}."
    if found.problem:
        yield clean(found.problem, 1_000)


def _by_ourselves(look: Callable[[Client], None]) -> None:
    """Serve for as long as it takes: what people decided stands in the journal."""
    terminal.begin("starting a daemon for it")
    import anyio
    import anyio.to_thread

    from supervisor.runtime.log import start_log
    from supervisor.runtime.service import Setup, run_daemon

    loaded = common.configuration()
    start_log("warn")

    async def serve() -> None:
        async with run_daemon(Setup(loaded.config, common.here(), source=common.configuration_source())):
            await anyio.to_thread.run_sync(lambda: look(connect(common.here().socket)))

    anyio.run(serve)


def settle(daemon: Client, directory: str, wait: Callable[[int, None], bool] | None = None) -> bool:
    """Before a task is submitted, ask once about settings without a decision, or report that they are off.

    Args:
        daemon: The daemon, which has the decisions.
        directory: A directory in the repository.
        wait: Waits for a descriptor or a signal, and says whether it was a signal; None leaves signals to their present
            handlers.

    Returns:
        Whether to go on: not after a signal.
    """
    try:
        shown: Shown = daemon.get("/v1/trust", directory=directory)
    except RefusedError:
        return True  # the submission is refused for the same reason, and says it better
    open_ = [name for name in ("", "hooks_") if shown[f"{name}digest"] and not _granted(shown[f"{name}said"])]
    if not open_:
        return True
    if any(shown[f"{name}said"] is None for name in open_) and sys.stdin.isatty() and sys.stderr.isatty():
        terminal.echo("\n".join(described(shown)), err=True)
        terminal.ask("Let this count for agents here? [y/N]: ")
        if wait is not None and wait(sys.stdin.fileno(), None):
            terminal.echo(err=True)
            return False
        granted = sys.stdin.readline().strip().lower() in ("y", "yes")
        daemon.post("/v1/trust", {"directory": directory, "granted": granted, **_digests(shown)})
        return True
    off = [thing for thing in (*shown["things"], *shown["hooks"]) if not thing["counts"]]
    terminal.echo(
        f"chaperon: {summed(off)} of this repository's settings {'are' if len(off) > 1 else 'is'} off for agents. "
        f"To look, and to let count: chaperon trust {directory}",
        err=True,
    )
    return True


def _digests(shown: Shown) -> dict[str, str]:
    return {"digest": shown["digest"], "hooks_digest": shown["hooks_digest"]}


def _granted(said: Mapping[str, Any] | None) -> bool:
    return said is not None and bool(said["granted"])


def told_of_programs(shown: Shown) -> Iterator[str]:
    """Yield the programs of the configuration in sentences for a person."""
    if not shown["programs"]:
        yield "The configuration names no programs or code."
        return
    yield "The configuration names programs and code:"
    for one in shown["programs"]:
        was = "" if one["trusted"] is None else f"  (trusted: {clean(one['trusted'], 120)})"
        yield f"  {'changed' if was else 'trusted'}  {clean(one['key'])}  {clean(one['now'], 120)}{was}"
    if any(one["trusted"] is not None for one in shown["programs"]):
        yield "What changed is not run until a person confirms it: chaperon trust --programs --accept."
    elif shown["said"] is not None:
        yield f"{clean(shown['said']['by'])} confirmed it."


def described(shown: Shown) -> Iterator[str]:
    """Yield the settings of a repository in sentences for a person."""
    things = [*shown["things"], *shown["hooks"]]
    if shown["hooks_problem"]:
        yield f"None of its hooks can run: {clean(shown['hooks_problem'])}."
    if not things:
        yield f"The settings of {clean(shown['repository'])} bring nothing that the CLI would run or that would steer it."
        return
    yield f"The settings of {clean(shown['repository'])} bring:"
    for thing in things:
        counts = "counts" if thing["counts"] else "off"
        what = f"  {clean(thing['what'], 100)}" if thing["what"] else ""
        where = "" if thing["file"] == thing["name"] else f"  ({clean(thing['file'])})"
        yield f"  {counts:<6}  {WORDS[thing['kind']][0]:<10}  {clean(thing['name'], 60)}{what}{where}"
    if shown["left_out"]:
        yield (
            f"The project's settings are left out as a whole, and its CLAUDE.md, skills and subagents with them: "
            f"{clean(shown['left_out'], 300)}."
        )
    said = shown["said"] or shown["hooks_said"]
    if said is not None:
        yield f"{clean(said['by'])} said that {'it may count' if said['granted'] else 'it stays off'}."
    elif shown["digest"] or shown["hooks_digest"]:
        yield "Nobody has said whether it may count, so it is off: chaperon trust --accept."
