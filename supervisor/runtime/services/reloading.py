"""The configuration taken live: files, texts and plugins are watched, and a change is tried out whole before it counts.

A file that cannot be used changes nothing and is an incident with its place. So is a change of programs or code, until
a person confirms it. Keys that a daemon takes at its start alone are named in an incident too. Everything else is
journalled with the digest of the new policy, and counts from the next review on.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.to_thread
from watchfiles import awatch
from watchfiles._rust_notify import WatchfilesRustInternalError

from monitors.contract.actions import ReviewContext
from monitors.contract.errors import ChaperonError
from monitors.contract.words import Severity
from supervisor.config.load import ConfigError, ConfigSource
from supervisor.config.model import Config
from supervisor.config.programs import program_files
from supervisor.protocol import events
from supervisor.runtime.assembly.policy import ConfigChange, Policy, change, read_beside
from supervisor.runtime.assembly.trusted_programs import TrustedProgram, TrustedPrograms
from supervisor.runtime.clock import Clock
from supervisor.runtime.incidents.feed import NoteFault
from supervisor.runtime.log import log

QUIET_MS = 50
"""How long no file may change before they are read: editors write a file in several steps, within milliseconds."""

LONGEST_MS = 1_600
"""How long changes that follow one another are waited for."""

LOOK_MS = 5_000
"""Between two looks at the files if nothing was told: a network file system tells nothing, and a folder is watched a
moment after it was looked at."""

TRUST_COMMAND = "chaperon trust --programs"
"""Shows what the configuration has run, and with --accept confirms it."""

TO_LOOK = f"To look, and to confirm them: {TRUST_COMMAND}"

Fingerprint = tuple[tuple[int, ...] | None, ...]
"""Signs of a file's change, for each file: inode, size and times; None for one that is not there."""


class DistrustedError(ChaperonError):
    """A configuration names programs or code that no person has confirmed."""

    def __init__(self, changed: tuple[TrustedProgram, ...], running: Config) -> None:
        """Say what changed.

        Args:
            changed: What did.
            running: The configuration in force, with copies of files that changed.
        """
        super().__init__(distrusted_words(changed), way_out=way_to_trust())
        self.running = running


def distrusted_words(changed: Iterable[TrustedProgram]) -> str:
    """Say what changed of the programs, as a clause."""
    each = "; ".join(f"{one.key} is {one.now} and was {one.trusted}" for one in changed)
    return f"programs or code that it names changed since a person trusted them: {each}"


def way_to_trust() -> str:
    """Say how a person lets what changed run."""
    return (
        f"To look, and to let it run: {TRUST_COMMAND}, and the same with --accept. If no person changed it, a program "
        "of an agent may have: put the files back, and look at what ran (chaperon tail)."
    )


class Reloading:
    """Takes a configuration that changed.

    Args:
        policy: The one in force.
        source: Where the configuration comes from.
        make: Makes a policy. Blocks; raises ChaperonError if the configuration cannot be used.
        happened: Journals an event.
        take: Puts a policy in force.
        fault: Notes an incident.
        clock: Tells the time that events carry.
        programs: What a person trusts to be run.
        unused: Told why what the files say is not in force, as a clause; empty once it is.
    """

    def __init__(
        self,
        policy: Policy,
        source: ConfigSource,
        make: Callable[[Config], Policy],
        happened: Callable[[events.AnyEvent], int],
        take: Callable[[Policy], None],
        fault: NoteFault,
        clock: Clock,
        programs: TrustedPrograms,
        unused: Callable[[str], None],
    ) -> None:
        self.policy = policy
        self.renewed: Callable[[Config, ReviewContext], None] = lambda _config, _context: None
        """Told of what a policy is made of, for those who make one themselves."""
        self._happened, self._put_in_force, self._fault, self._clock = happened, take, fault, clock
        self._source = source
        self._make = make
        self.programs = programs
        """The programs that a person trusts."""
        self._named = self._beside(policy.config)
        self._refused, self._unused = "", unused
        self._one_at_a_time = anyio.Lock()
        self._waiting: tuple[str, ...] = ()

    async def run(self) -> None:
        """Watch until cancelled."""
        stop = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_set_at_the_end, stop, name="end of watching")
            seen: Fingerprint | None = None
            while True:
                watched = await anyio.to_thread.run_sync(folders, self._files())
                try:
                    seen = await self._watch(watched, seen, stop)
                except FileNotFoundError:
                    continue  # a folder went just now; the next one above is watched instead
                except (OSError, WatchfilesRustInternalError) as error:
                    what = (
                        f"Changes of the configuration are not seen any more: {error}. "
                        f"The policy {self.policy.digest} holds on."
                    )
                    way_out = "Raise fs.inotify.max_user_watches or max_user_instances, and start the daemon again."
                    self._fault("", "configuration_not_watched", what, Severity.HIGH, way_out)
                    break
            tasks.cancel_scope.cancel()

    async def _watch(self, watched: frozenset[Path], seen: Fingerprint | None, stop: anyio.Event) -> Fingerprint:
        """Take what changes, until other folders are to be watched; returns what was seen last.

        A look comes before the first word of the watch as well: a watch does not tell of changes before it began.
        """
        told = awatch(
            *watched,
            watch_filter=None,
            debounce=LONGEST_MS,
            step=QUIET_MS,
            stop_event=stop,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            recursive=False,
            ignore_permission_denied=True,
        )
        async with aclosing(told):
            while True:
                now = await anyio.to_thread.run_sync(fingerprint, self._files())
                if now != seen:
                    seen = now
                    await self.examine()
                if await anyio.to_thread.run_sync(folders, self._files()) != watched:
                    return seen
                await anext(told, None)  # none at the end, which comes with a cancellation

    def _files(self) -> tuple[Path, ...]:
        return (*self._source.files(), *self._named)

    def listed(self) -> tuple[str, tuple[TrustedProgram, ...]]:
        """Return the programs that the configuration names now, and the digest to confirm them by. Blocks.

        Raises:
            ChaperonError: The configuration cannot be read.
        """
        config = self._source.load().config
        return self.programs.digest(config), self.programs.listed(config)

    async def trust(self, digest: str) -> bool:
        """Trust the programs of the configuration if they are those that were shown; returns whether.

        Raises:
            ChaperonError: The configuration cannot be read.
            OSError: The list cannot be written.
        """
        return await anyio.to_thread.run_sync(self._trust, digest)

    def _trust(self, digest: str) -> bool:
        config = self._source.load().config
        if self.programs.digest(config) != digest:
            return False
        self.programs.accept(config)
        return True

    async def examine(self) -> None:
        """Try out what the files say, and take it if it can be used."""
        async with self._one_at_a_time:
            await self._examine_alone()

    async def _examine_alone(self) -> None:
        try:
            found, policy = await anyio.to_thread.run_sync(self._try_out)
        except DistrustedError as error:
            self._distrust(error)
            return
        except Exception as error:  # noqa: BLE001 - it runs plugins, and agents must not suffer for these
            self._refuse(error)
            return
        self._keep("")
        if policy is not None:
            self._take(found, policy)
        if found.at_the_start:
            keys, way_out = (
                ", ".join(found.at_the_start),
                "Start the daemon again to have it; agents live on meanwhile.",
            )
            self._unused(f"the daemon takes {keys} at its start alone. {way_out}")
            if found.at_the_start != self._waiting:
                what = (
                    f"The configuration changed in what the daemon takes at its start alone: {keys}. "
                    "That part is not in force."
                )
                self._fault("", "restart_needed", what, Severity.LOW, way_out)
        self._waiting = found.at_the_start

    def _try_out(self) -> tuple[ConfigChange, Policy | None]:
        """Make the policy that the files want; None if it is the one in force. Blocks."""
        wanted = self._source.load().config
        self._named = tuple(dict.fromkeys((*self._beside(self.policy.config), *self._beside(wanted))))
        if changed := self.programs.changed(wanted):
            raise DistrustedError(changed, self.programs.running(self.policy.config))
        found = change(self.policy.config, wanted)
        policy = self._make(found.config)
        return found, policy if policy.digest != self.policy.digest else None

    @staticmethod
    def _beside(config: Config) -> tuple[Path, ...]:
        return (*read_beside(config), *map(Path, program_files(config)))

    def _distrust(self, error: DistrustedError) -> None:
        """Tell of programs that changed, once, and have those who load plugins themselves use the copies."""
        if error.what == self._refused:
            return
        self._keep(error.what, TO_LOOK)
        self.renewed(error.running, self.policy.nobody)
        what = (
            f"The configuration was not taken: {error.what}. Nothing was changed; the policy {self.policy.digest} "
            "holds on."
        )
        self._fault("", "programs_changed", what, Severity.HIGH, error.way_out)

    def has_reported(self, changed: tuple[TrustedProgram, ...]) -> None:
        """Take note that the start has told of these."""
        if changed:
            self._keep(distrusted_words(changed), TO_LOOK)

    def _refuse(self, error: Exception) -> None:
        """Tell of a configuration that cannot be used, once."""
        if isinstance(error, ConfigError):
            says, way_out = "; ".join(f"{one.place}: {one.says}" for one in error.problems), "Correct these lines."
        elif isinstance(error, ChaperonError):
            says, way_out = error.what.replace("; nothing was started", "").rstrip("."), error.way_out
        else:
            says, way_out = f"{type(error).__name__}: {error}", "Mend the file, or take it out of the configuration."
        if says == self._refused:
            return
        self._keep(says, way_out)
        what = (
            f"The configuration changed and cannot be used: {says}{'' if says.endswith('?') else '.'} "
            f"Nothing was changed; the policy {self.policy.digest} holds on."
        )
        self._fault("", "configuration_refused", what, Severity.HIGH, way_out)

    def _keep(self, why: str, way_out: str = "") -> None:
        """Keep why the files are not in force, to tell of it once and to those who look; empty: they are."""
        self._refused = why
        self._unused(f"{why}. {way_out}" if why else "")

    def _take(self, found: ConfigChange, policy: Policy) -> None:
        """Put a policy in force: journalled first, and then given to the sessions, between two events."""
        before, self.policy = self.policy, policy
        at, mono = self._clock.wall(), self._clock.mono()
        self._happened(
            events.PolicyChanged(
                agent="", at=at, mono=mono, digest=policy.digest, before=before.digest, changed=found.live
            )
        )
        self._put_in_force(policy)
        self.renewed(policy.config, policy.nobody)
        log.info(
            "the configuration changed (%s); the policy %s is in force", ", ".join(found.live) or "files", policy.digest
        )


def tell_of_programs(fault: NoteFault, changed: tuple[TrustedProgram, ...], digest: str, said: str) -> None:
    """Tell of programs that a start does not run as they are, and of a list that is not the one a person confirmed.

    Args:
        fault: Notes an incident.
        changed: Programs that changed since they were trusted.
        digest: The digest of the list.
        said: The digest that a person confirmed last, by the journal; empty if none did.
    """
    if changed:
        what = f"The configuration was taken in part: {distrusted_words(changed)}. What was trusted is run instead."
        fault("", "programs_changed", what, Severity.CRITICAL, way_to_trust())
    if said and digest != said:
        what = (
            "The list of trusted programs is not the one that the journal says a person confirmed: it was written "
            "over in the state directory. The programs of the list are in use."
        )
        fault("", "programs_list_changed", what, Severity.CRITICAL, way_to_trust())


async def _set_at_the_end(stop: anyio.Event) -> None:
    """End the watch's thread, which no cancellation reaches."""
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()


def folders(files: Iterable[Path]) -> frozenset[Path]:
    """Return the folders to watch: those of files and of the targets of links, or the nearest ones above. Blocks."""
    found = set()
    for file in files:
        for folder in (file.parent, Path(os.path.realpath(file)).parent):
            found.add(next(one for one in (folder, *folder.parents) if one.is_dir()))
    return frozenset(found)


def fingerprint(files: Iterable[Path]) -> Fingerprint:
    """Return the signs by which a change of the files is known. Blocks."""
    return tuple(map(_of_file, files))


def _of_file(path: Path) -> tuple[int, ...] | None:
    try:
        there = path.stat()
    except OSError:
        return None
    return there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns
