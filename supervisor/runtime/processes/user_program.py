"""A program of the user's, which prepares a workspace or is told of an event: run to its end, or ended with all that it started."""

import os
import signal
from collections.abc import Mapping
from subprocess import DEVNULL, STDOUT

import anyio
from anyio.abc import Process

from monitors.contract.errors import ChaperonError

TAIL_BYTES = 2_000
"""Of what the program printed, the part that its error repeats: a screen of it."""


class ProgramError(ChaperonError):
    """A program of the user's could not be run, failed, or took too long."""


async def run_program(called: str, program: str, folder: str, environment: Mapping[str, str], seconds: float) -> None:
    """Run a program in a folder to its end. Whatever happens, nothing of it runs on.

    Args:
        called: What an error calls it. Example: `set-up program`.
        program: Its path.
        folder: Where it runs.
        environment: Its whole environment.
        seconds: How long it may take.

    Raises:
        ProgramError: How it failed, and the end of what it said.
    """
    said = bytearray()
    try:
        with anyio.fail_after(seconds):
            code = await _run(program, folder, environment, said)
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise _failure(
                called, program, f"took more than {seconds:g} s and was ended with all that it had started", said
            ) from None
        raise _failure(called, program, f"could not be started ({error.strerror})", said) from error
    if code < 0:
        raise _failure(called, program, f"was ended by signal {-code} ({signal.Signals(-code).name})", said)
    if code > 0:
        raise _failure(called, program, f"ended with exit code {code}", said)


async def _run(program: str, folder: str, environment: Mapping[str, str], said: bytearray) -> int:
    """Run it, collect the end of what it says, and return its exit code; a signal's is negative."""
    process = await anyio.open_process(
        [program], stdin=DEVNULL, stderr=STDOUT, cwd=folder, env=environment, start_new_session=True
    )
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, process, said)
            code = await process.wait()
            _end_group(process.pid)  # what it left running would hold the other end of what is listened to
        return code
    finally:
        with anyio.CancelScope(shield=True):
            _end_group(process.pid)
            await process.aclose()


async def _listen(process: Process, said: bytearray) -> None:
    assert process.stdout is not None
    async for data in process.stdout:
        said += data
        del said[:-TAIL_BYTES]


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def _failure(called: str, program: str, how: str, said: bytearray) -> ProgramError:
    text = said.decode(errors="replace").strip()
    return ProgramError(
        f"The {called} {program} {how}." + (f" The last that it said:\n{text}\n" if text else " It said nothing.")
    )
