"""A program of the user, which prepares a workspace or handles an event.

It is run to its end, or ended with all its children.
"""

import signal
from collections.abc import Callable, Mapping

import anyio.to_thread

from host.children import ChildCommand, run_child_async
from monitors.contract.errors import ChaperonError

TAIL_BYTES = 2_000
"""Of what the program printed, the part that its error repeats: a screen of it."""


class ProgramError(ChaperonError):
    """A program of the user's could not be run, failed, or took too long."""


class ProgramEndedError(ProgramError):
    """It ran to its end, and ended with an exit code other than 0."""


Trusted = Callable[[str], str]
"""Returns the path to run a program by; raises ChaperonError if it is not what a person trusted. Blocks."""


def as_it_is(program: str) -> str:
    """Return the path itself, for a program that is a copy already, or fixed."""
    return program


async def run_program(
    called: str,
    program: str,
    folder: str,
    environment: Mapping[str, str],
    seconds: float,
    trusted: Trusted = as_it_is,
) -> None:
    """Run a program in a folder to its end. Whatever happens, nothing of it runs on.

    Args:
        called: What an error calls it. Example: `set-up program`.
        program: Its path.
        folder: Where it runs.
        environment: Its whole environment.
        seconds: How long it may take.
        trusted: Tells by which path it is run.

    Raises:
        ProgramEndedError: It ended with another code than 0, or is not what a person trusted.
        ProgramError: How it failed, and the end of what it said.
    """
    try:
        runs = await anyio.to_thread.run_sync(trusted, program)
    except ChaperonError as error:
        raise ProgramEndedError(f"The {called} was not run: {error.what}", way_out=error.way_out) from error
    try:
        done = await run_child_async(
            ChildCommand(
                argv=[runs],
                folder=folder,
                environment=environment,
                seconds=seconds,
                output_bytes=TAIL_BYTES,
                keep="end",
            )
        )
    except OSError as error:
        raise _failure(called, program, f"could not be started ({error.strerror})", b"") from error
    if done.code is None:
        how = f"took more than {seconds:g} s and was ended with all that it had started"
        raise _failure(called, program, how, done.output)
    if done.code < 0:
        how = f"was ended by signal {-done.code} ({signal.Signals(-done.code).name})"
        raise _failure(called, program, how, done.output)
    if done.code > 0:
        failure = _failure(called, program, f"ended with exit code {done.code}", done.output)
        raise ProgramEndedError(failure.what)


def _failure(called: str, program: str, how: str, said: bytes) -> ProgramError:
    text = said.decode(errors="replace").strip()
    return ProgramError(
        f"The {called} {program} {how}." + (f" The last that it said:\n{text}\n" if text else " It said nothing.")
    )
