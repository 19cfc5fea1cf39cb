"""The program that an attached CLI starts for a hook: `hook.py SOCKET WHEN_AWAY SECONDS EVENT [RELAY [CLI]]`.

It hands what it reads to the daemon and prints the daemon's answer. If the daemon cannot be reached in time, it answers
by itself: a call that was not reviewed does not run, unless the person chose otherwise. Exit code 2 is how a call is
blocked (measured, 2.1.329); every other failure would let it run.

Standard library only, and as little of it as can be: this starts with each tool call.
"""

import _socket as socket
import os
import sys
import time

CALL_SECONDS = 30.0
"""How long a call waits for a daemon that is away, unless the person says otherwise: a restart takes 1 s, an upgrade up
to 20."""

OTHERS_SECONDS = 3.0
"""The same for every other hook, upon which nothing depends; a restart is survived, and a prompt not held up."""

POLL_SECONDS = 0.05
"""Pause between two attempts."""

ALL_SECONDS = 86_400 - 60.0
"""How long a call waits in all: less than the CLI waits for its hook, since older ones let a call run then."""

MOST_BREAKS = 100
"""How often a daemon may go away over one call, and the time begins anew. One that each time fails at this very call is
not asked for ever; one that is updated each minute for an hour is."""

GATE = "PreToolUse"

CONTEXT = ("CLAUDE_CODE_ENTRYPOINT", "CI", "TERM_PROGRAM")
"""Variables by which the daemon names where a session comes from."""

ASK = (
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask",'
    '"permissionDecisionReason":"The daemon of chaperon is away, so nobody reviewed this call."}}'
)


SOURCE = "chaperon-source"
"""The header by which hooks of different entries of the settings are told apart."""


EVENT = "chaperon-event"
"""The header with the event that the entry is of: it says whether this is the gate, whatever the CLI sends."""


LAUNCHED = "CHAPERON_AGENT_NONCE"
"""A variable of each CLI that chaperon launched: a gate of their own holds its calls, from within a sandbox too."""


LOCKS = 10
"""The limit that marks an agent's processes: `supervisor.runtime.shim.marks` has the reasons."""


class AwayError(Exception):
    """The daemon cannot be reached, or went away before it answered.

    Args:
        why: What was met.
        reached: Whether it was there.
    """

    def __init__(self, why: str, reached: bool = False) -> None:
        super().__init__(why)
        self.reached = reached


class HookRefusedError(Exception):
    """The daemon answered, and does not take the hook."""


def main(path: str, when_away: str, seconds: float, event: str, relay: str = "", cli: str = "") -> int:
    """Serve one hook; returns the exit code.

    Args:
        path: The daemon's socket of hooks.
        when_away: The person's choice for calls while no daemon is there.
        seconds: How long a daemon is waited for.
        event: The hook.
        relay: The folder of the relay's settings, if the relay is to be there from now on.
        cli: The CLI whose hook it is, if it is another than Claude's.
    """
    if relay and LAUNCHED not in os.environ:
        start_relay(relay)
    body = sys.stdin.buffer.read()
    if cli:
        sys.path.append(__file__.rsplit("/", 4)[0])
        from supervisor.runtime.attached.adapters.other_cli import served

        answer, why = served(cli, event, body, lambda own: reviewed(path, when_away, seconds, event, own, cli)), ""
    else:
        answer, why = reviewed(path, when_away, seconds, event, body)
    if why:
        return blocked(event, why)
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
    return 0


def reviewed(path: str, when_away: str, seconds: float, event: str, body: bytes, cli: str = "") -> tuple[bytes, str]:
    """Return the answer to a hook, and why its call may not run; that is empty if the answer says it, or it may.

    Of another CLI the hook is the gate, within a launched agent too.
    """
    id_ = f"h{os.getpid()}-{time.time_ns():x}"
    seconds = seconds if event == GATE else min(seconds, OTHERS_SECONDS)
    begun = time.monotonic()  # noqa: TID251 - no packages here
    until, breaks = begun + seconds, 0
    while True:
        try:
            return ask(path, body, id_, event), ""
        except AwayError as error:
            now = time.monotonic()  # noqa: TID251
            if LAUNCHED in os.environ and not cli:
                return b"", ""
            if error.reached and breaks < MOST_BREAKS:
                breaks, until = breaks + 1, now + seconds
            if now > min(until, begun + ALL_SECONDS):
                return away(event, when_away, f"{seconds:g} s ({error})")
            time.sleep(POLL_SECONDS)
        except HookRefusedError as error:
            return b"", f"chaperon refuses this call: {error}"


def start_relay(folder: str) -> None:
    """Start the relay if there is none, as after a boot: the session's hooks by HTTP would be answered by no program.

    One that is marked as an agent's would be believed by no daemon, so that an agent's session starts none.
    """
    import resource
    import subprocess

    if resource.getrlimit(LOCKS)[1] != resource.RLIM_INFINITY:
        return
    sys.path.append(__file__.rsplit("/", 4)[0])
    from pathlib import Path

    from supervisor.runtime.attached import relay_settings

    nowhere = subprocess.DEVNULL
    try:
        subprocess.run(
            relay_settings.words(Path(folder)),
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            env={},
            timeout=OTHERS_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return  # the CLI blocks calls then, and says why


def ask(path: str, body: bytes, id_: str, event: str) -> bytes:
    """Return the daemon's answer, however long it takes.

    Raises:
        AwayError: There is none.
        HookRefusedError: The daemon refuses.
    """
    about = "".join(f"x-{name.lower().replace('_', '-')}: {clean(os.environ.get(name, ''))}\r\n" for name in CONTEXT)
    head = (
        f"POST /v1/hooks HTTP/1.1\r\nhost: chaperon\r\nconnection: close\r\ncontent-type: application/json\r\n"
        f"chaperon-request: {id_}\r\n{EVENT}: {clean(event)}\r\n{SOURCE}: {clean(' '.join(sys.argv[2:4]))}\r\n{about}content-length: {len(body)}\r\n\r\n"
    )
    answer, reached = bytearray(), False
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(ALL_SECONDS)
        connection.connect(path)
        reached = True
        send(connection, head.encode() + body)
        while part := connection.recv(65536):
            answer += part
    except OSError as error:
        raise AwayError(str(error), reached) from None
    finally:
        connection.close()
    top, found, rest = bytes(answer).partition(b"\r\n\r\n")
    status = top[9:12]
    if not found or status[:1] == b"5":
        raise AwayError(f"its answer ended early, or was {status.decode(errors='replace') or 'empty'}", reached)
    if status != b"200":
        raise HookRefusedError(rest.decode(errors="replace")[:500])
    if f"content-length: {len(rest)}".encode() not in top.lower():
        raise AwayError("its answer was cut", reached)
    return rest


def send(connection: socket.socket, data: bytes) -> None:
    """Send all, or as much as is read: a daemon that answers before it read all says why."""
    try:
        connection.sendall(data)
    except BrokenPipeError:
        return


def clean(value: str) -> str:
    """Return the value as a header can hold it."""
    return "".join(char for char in value[:100] if " " <= char <= "~")


def away(event: str, when_away: str, why: str) -> tuple[bytes, str]:
    """Answer in the daemon's place, as the person chose."""
    if event == GATE and when_away == "ask":
        return ASK.encode(), ""
    return b"", "" if when_away == "allow" else away_text(why)


def away_text(why: str) -> str:
    """Say that no daemon was there, and what a person can do."""
    return (
        f"The daemon of chaperon was away for {why}, so nobody reviewed this call and it was not run. "
        "A person can start it (chaperon serve), or take this directory from its watch (chaperon detach)."
    )


def blocked(event: str, why: str) -> int:
    """Have the call not run; of other hooks nothing depends on the answer."""
    if event != GATE:
        return 0
    sys.stderr.write(why)
    return 2


if __name__ == "__main__":
    try:
        code = main(sys.argv[1], sys.argv[2], float(sys.argv[3]), *sys.argv[4:7])
    except BaseException as error:  # noqa: BLE001 - whatever failed, only exit code 2 keeps the call from running
        code = blocked(
            sys.argv[4] if len(sys.argv) > 4 else GATE,
            f"The hook of chaperon failed ({error!r}), so this call was not run.",
        )
    sys.exit(code)
