"""Notification of people about incidents and waiting actions: by mail, chat and the rest, and systemd's journal.

Nothing here is waited for. An incident is put into a channel's queue. The channel gathers the incidents of a short time
into one message, so that a storm is one, and tries again if sending fails. A channel that stays broken is an incident
itself, sent by all other channels. Incidents that were not sent when the daemon ended are sent by the next one.
"""

import os
import socket
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from shutil import which
from typing import Any, Protocol
from urllib.parse import quote

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from host.children import ChildCommand, run_child
from interventions.decisions import Incident
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from monitors.contract.words import Severity
from supervisor.protocol.events import StateChanged
from supervisor.protocol.words import AgentState
from supervisor.runtime.incidents.delivered import DeliveryMarks
from supervisor.runtime.log import log
from supervisor.runtime.protection.protector import UNPROTECTED, Protector

FAILED = "notification_failed"
"""The type of the incident for a broken channel."""

STOP = "emergency_stop"

WAITS = "approval_waits"
"""The type of the notice about an action that waits for a person. It is no incident, since its reply is one event of
many."""

DONE, RESTS = "agent_done", "agent_rests"
"""The types of the notices about an agent that is done, and one that waits to be told more. They are no incidents."""

STORM_MESSAGES = 5
"""Messages within a digest's time after which the next one is a digest: people still read so many one by one."""

DIGEST_SECONDS = 600.0
"""How long notices are gathered for a digest: a person who is not called looks about as often."""

URGENT_SECONDS = 60.0
"""The same for what is critical, and for actions that wait, which are denied after a while."""

KINDS = {Severity.LOW: "info", Severity.MEDIUM: "warning", Severity.HIGH: "warning", Severity.CRITICAL: "failure"}
"""apprise's types of messages, by which services choose icon and colour."""

INSTALL_APPRISE = f"Install it beside chaperon: {sys.executable} -m pip install apprise"
"""The remedy if it is missing: the extra `[notify]` brings it, and nothing else."""

TASK_WIDTH = 200
"""Characters of a task that a message shows."""

SEND_SECONDS = 30.0
"""How long one attempt may take: mail servers that greet slowly take ten; after this its answer counts for nothing."""

BACKOFF_SECONDS = (1.0, 5.0, 25.0, 125.0)
"""Pauses between attempts: the last comes two and a half minutes after the first, when a network that was down for a
restart of its router is up again."""

MOST_WAITING = 200
"""Incidents that wait for one channel; of more, the oldest are only counted."""

COUNTED_FROM = 5
"""A message with more incidents has counts by type."""

MOST_SHOWN = 20
"""Incidents that one message names; the rest is a number, and the log has them."""

JOURNAL_SOCKET = Path("/run/systemd/journal/socket")

PRIORITY = {Severity.LOW: 6, Severity.MEDIUM: 5, Severity.HIGH: 4, Severity.CRITICAL: 2}
"""syslog's: informational, notice, warning, critical."""


class SendError(ChaperonError):
    """A message was not taken."""


class Send(Protocol):
    """One way of sending."""

    def __call__(self, title: str, body: str, incidents: Sequence[Incident]) -> None:
        """Send a message. May block; runs in a thread of its own.

        Raises:
            SendError: It was not taken.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """One channel."""

    name: str
    send: Send
    min_severity: Severity = Severity.HIGH
    """Incidents below this are not sent."""
    stops: bool = False
    """Whether every emergency stop is sent, whatever its severity."""
    approvals: bool = True
    """Whether it reports actions that wait for a person."""
    ends: bool = True
    """Whether it reports agents that are done, or wait to be told more."""
    group_seconds: float = 10.0
    """How long after the first incident others are gathered into the same message."""
    digest_seconds: float = DIGEST_SECONDS
    """How long they are gathered once many messages were sent within that time; 0 makes no digests."""
    panel: str = ""
    """The address of the panel, for links; empty for none."""
    backoff_seconds: tuple[float, ...] = BACKOFF_SECONDS
    send_seconds: float = SEND_SECONDS

    def wants(self, incident: Incident) -> bool:
        """Whether the channel sends it."""
        if incident.type == FAILED and incident.summary.startswith(f"Channel {self.name} "):
            return False  # by whom it cannot be told
        if incident.type == WAITS:
            return self.approvals
        if incident.type in (DONE, RESTS):
            return self.ends
        return incident.severity.rank >= self.min_severity.rank or (self.stops and incident.type == STOP)


@dataclass(slots=True)
class _Channel:
    settings: ChannelSettings
    waiting: deque[Incident] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))
    left_out: int = 0
    broken: bool = False
    came: anyio.Event = field(default_factory=anyio.Event)
    urgent: anyio.Event = field(default_factory=anyio.Event)
    """Something came that waits for no digest."""
    sent: deque[float] = field(default_factory=lambda: deque(maxlen=STORM_MESSAGES))
    """Times of the last messages, on the clock of the event loop."""

    def take(self, incident: Incident) -> None:
        """Put it into the queue; if that is full, the oldest is only counted."""
        self.left_out += len(self.waiting) == MOST_WAITING
        self.waiting.append(incident)
        self.came.set()
        if is_urgent(incident):
            self.urgent.set()

    async def gather(self) -> None:
        """Wait until a message is due: shortly, or in a storm after the time of a digest."""
        await anyio.sleep(self.settings.group_seconds)
        digest = self.settings.digest_seconds
        if not digest or len(self.sent) < STORM_MESSAGES or anyio.current_time() - self.sent[0] > digest:
            return
        due, soon = self.sent[-1] + digest, self.sent[-1] + min(URGENT_SECONDS, digest)
        with anyio.move_on_after(max(0.0, due - anyio.current_time())):
            await self.urgent.wait()
            await anyio.sleep(max(0.0, soon - anyio.current_time()))


class Notifications:
    """All channels.

    Args:
        channels: What there is; none is fine.
        fault: Notes an incident: agent, type, and a sentence.
        count: Counts one message: the channel, and `sent`, `failed` or `retried`.
        about: Says of an agent what its task is and where.
        protector: Masks what is sent.
    """

    def __init__(
        self,
        channels: Iterable[ChannelSettings],
        fault: Callable[[str, str, str], object],
        count: Callable[[str, str], object] = lambda _channel, _result: None,
        about: Callable[[str], str] = lambda _agent: "",
        protector: Protector = UNPROTECTED,
    ) -> None:
        self._protector = protector
        self._channels = [_Channel(settings) for settings in channels]
        self._fault = fault
        self._count = count
        self._about = about
        self._told: DeliveryMarks | None = None

    def catch_up(self, told: DeliveryMarks, incidents: Sequence[Incident], last: int) -> None:
        """Send each channel's incidents that the daemon before had not sent; a new channel begins here. Blocks.

        Args:
            told: The position of each channel; kept from here on.
            incidents: The latest of the log, oldest first.
            last: Sequence number of the journal's last event.
        """
        self._told = told
        for channel in self._channels:
            upto = told.upto(channel.settings.name, last)
            for incident in incidents:
                if incident.seq > upto and channel.settings.wants(incident):
                    channel.take(incident)

    def tell(self, incident: Incident) -> None:
        """Have the channels that want it send an incident. Never blocks and never fails."""
        for channel in self._channels:
            if channel.settings.wants(incident):
                channel.take(incident)

    def withdraw(self, id_: str) -> None:
        """Withdraw a notice that is no longer needed, unless it was sent."""
        for channel in self._channels:
            kept = [incident for incident in channel.waiting if incident.id != id_]
            if len(kept) < len(channel.waiting):
                channel.waiting.clear()
                channel.waiting.extend(kept)

    def start(self, tasks: TaskGroup) -> None:
        """Send in this task group, each channel by itself, so that a slow one delays no other."""
        for channel in self._channels:
            tasks.start_soon(self._run, channel, name=f"channel {channel.settings.name}")

    async def _run(self, channel: _Channel) -> None:
        while True:
            await channel.came.wait()
            await channel.gather()
            channel.came, channel.urgent = anyio.Event(), anyio.Event()
            incidents, channel.left_out, more = list(channel.waiting), 0, channel.left_out
            channel.waiting.clear()
            if incidents:
                await self._send(channel, incidents, more)

    async def _send(self, channel: _Channel, incidents: list[Incident], more: int) -> None:
        """Send one message, again if it is not taken.

        In the end an incident reports the failure, once until it works again.
        """
        mask = self._protector.text
        incidents = [replace(each, summary=mask(each.summary), way_out=mask(each.way_out)) for each in incidents]
        about = lambda agent: mask(self._about(agent))  # noqa: E731 - one line of an argument
        settings, title = channel.settings, title_of(incidents, more)
        body = body_of(incidents, more, about, settings.panel)
        problem = ""
        for pause in (*settings.backoff_seconds, None):
            try:
                with anyio.fail_after(settings.send_seconds):
                    await anyio.to_thread.run_sync(settings.send, title, body, tuple(incidents), abandon_on_cancel=True)
            except TimeoutError:
                problem = f"no answer within {settings.send_seconds:g} s"
            except Exception as error:  # noqa: BLE001 - what carries messages is anybody's code, and stops no agent
                problem = str(error) or type(error).__name__
            else:
                channel.broken = False
                channel.sent.append(anyio.current_time())
                self._count(settings.name, "sent")
                if self._told is not None:
                    seq = max(incident.seq for incident in incidents)
                    await anyio.to_thread.run_sync(self._told.note, settings.name, seq)
                return
            if pause is not None:
                log.warning(
                    "channel %s did not take a message (%s); tried again in %g s", settings.name, problem, pause
                )
                self._count(settings.name, "retried")
                await anyio.sleep(pause)
        self._count(settings.name, "failed")
        if not channel.broken:
            channel.broken = True
            ids = ", ".join(incident.id for incident in incidents[:5])
            what = f"Channel {settings.name} could not be told of {counted(len(incidents) + more, 'incident')} ({ids}): {problem}"
            self._fault("", FAILED, what)


def send_test(channel: ChannelSettings, at: float) -> None:
    """Send a message that says that it is a test. Blocks.

    Args:
        channel: Through which channel.
        at: Now, as Unix time in seconds.

    Raises:
        SendError: The channel did not take it.
    """
    said = f"This is a test of channel {channel.name}: messages of chaperon on {socket.gethostname()} arrive here."
    incident = Incident("test", at, "", "test", Severity.LOW, said, "Nothing is to be done.")
    try:
        channel.send(title_of([incident]), body_of([incident]), [incident])
    except SendError:
        raise
    except Exception as error:  # what carries messages is anybody's code
        raise SendError(f"{type(error).__name__}: {error}") from error


def title_of(incidents: Sequence[Incident], more: int = 0) -> str:
    """A message's title: the worst, and how many there are."""
    worst = max(incidents, key=lambda incident: incident.severity.rank)
    count = len(incidents) + more
    others = f" and {count - 1} more" if count > 1 else ""
    return f"chaperon on {socket.gethostname()}: {worst.severity} {worst.type} ({worst.agent or 'daemon'}){others}"


def body_of(
    incidents: Sequence[Incident],
    more: int = 0,
    about: Callable[[str], str] = lambda _agent: "",
    panel: str = "",
) -> str:
    """Return a message's text: each incident, worst first, as many as fit; counts if there are many; then the agents.

    Args:
        incidents: The incidents and notices.
        more: How many more there were, which are only counted.
        about: Says of an agent what its task is and where.
        panel: The address of the panel, to which each incident then has a link; empty for none.
    """
    ordered = sorted(incidents, key=lambda incident: (-incident.severity.rank, incident.at))
    lines = []
    for incident in ordered[:MOST_SHOWN]:
        lines.append(f"{incident.severity} {incident.type} ({incident.agent or 'daemon'}): {incident.summary[:500]}")
        if incident.way_out:
            lines.append(f"  {incident.way_out}")
        if panel:
            lines.append(f"  {link_to(panel, incident)}")
    if len(ordered) > COUNTED_FROM:
        kinds = Counter(incident.type for incident in ordered)
        lines.append(f"In all: {', '.join(f'{count} {kind}' for kind, count in kinds.most_common())}")
    unseen = max(0, len(ordered) - MOST_SHOWN) + more
    if unseen:
        lines.append(f"and {unseen} more: chaperon incidents")
    agents = dict.fromkeys(incident.agent for incident in ordered[:MOST_SHOWN] if incident.agent)
    lines += [f"{agent}: {said}" for agent in agents if (said := about(agent))]
    return "\n".join(lines)


def link_to(panel: str, incident: Incident) -> str:
    """Return the address of the panel's page on which a person can act: of the agent that waits, or of the incident."""
    place = f"/incidents/{quote(incident.id, safe='')}"
    if incident.type in (WAITS, DONE, RESTS):
        place = f"/agents/{quote(incident.agent, safe='')}"
    return panel.rstrip("/") + place


def is_urgent(incident: Incident) -> bool:
    """Whether an incident waits for no digest."""
    return incident.severity is Severity.CRITICAL or incident.type in (WAITS, STOP)


def of_state(changed: StateChanged, seq: int) -> Incident | None:
    """Return the notice about an agent that is done, or that waits to be told more; None if the state is another."""
    told = _OF_STATE.get(changed.after)
    if told is None:
        return None
    type_, says, way_out = told
    agent = changed.agent
    what = f"Agent {agent} {says}: {changed.why}"
    return Incident(
        f"{agent}-{seq}-{type_}", changed.at, agent, type_, Severity.LOW, what, way_out.format(agent=agent), seq=seq
    )


_OF_STATE: Mapping[AgentState, tuple[str, str, str]] = {
    AgentState.DONE: (DONE, "is done", "chaperon show {agent}, chaperon diff {agent}"),
    AgentState.IDLE: (RESTS, "waits to be told more", "chaperon say {agent} TEXT"),
}
"""By state: the type of the notice, the words, and the commands that follow."""


# ── ways of sending ───────────────────────────────────────────────────────────────────────────────────────────────────


class ByApprise:
    """Through apprise, which knows a hundred services by their addresses.

    Args:
        url: The address with its secrets; it is never shown. Example: `mailto://user:password@example.org`.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._sender: Any = None

    def __call__(self, title: str, body: str, incidents: Sequence[Incident]) -> None:
        """Send a message.

        Raises:
            SendError: apprise is not installed, knows no such address, or the service did not take the message.
        """
        if self._sender is None:
            self._sender = self._made()
        worst = max((incident.severity for incident in incidents), key=lambda severity: severity.rank)
        if not self._sender.notify(title=title, body=body, notify_type=KINDS[worst]):
            raise SendError("the service did not take it; apprise logs why")

    def check(self) -> None:
        """Look whether apprise knows the address; raises SendError like a message would. Nothing is sent."""
        self._made()

    def _made(self) -> Any:
        try:
            sender = import_module("apprise").Apprise()
        except ImportError:
            raise SendError("apprise is not installed here.", way_out=INSTALL_APPRISE) from None
        if not sender.add(self._url):
            raise SendError(f"apprise knows no service for an address that begins {self._url.split(':')[0]!r}.")
        return sender


class ByDesktop:
    """On the desktop of this user, by notify-send, which desktops bring."""

    def __call__(self, title: str, body: str, incidents: Sequence[Incident]) -> None:
        """Send a message.

        Raises:
            SendError: There is no such program here, or it found no desktop.
        """
        program = which("notify-send")
        if program is None:
            raise SendError("There is no program notify-send here.", way_out="Install libnotify, or name another kind.")
        worst = max((incident.severity for incident in incidents), key=lambda severity: severity.rank)
        environment = {name: os.environ[name] for name in OF_A_DESKTOP if name in os.environ}
        command = (
            program,
            "--app-name=chaperon",
            f"--urgency={URGENCY[worst]}",
            "--",
            title,
            body[:DESKTOP_CHARACTERS],
        )
        ended = run_child(
            ChildCommand(argv=command, environment=environment, seconds=SEND_SECONDS / 2, output_bytes=500)
        )
        if ended.code != 0:
            raise SendError(f"notify-send ended with {ended.code}: {ended.output.decode(errors='replace').strip()}")


OF_A_DESKTOP = ("PATH", "HOME", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Variables by which a program finds the desktop."""

URGENCY = {Severity.LOW: "low", Severity.MEDIUM: "normal", Severity.HIGH: "normal", Severity.CRITICAL: "critical"}
"""The words of the desktop's notifications."""

DESKTOP_CHARACTERS = 1_000
"""Characters of a message that a desktop shows at most."""


class ByJournal:
    """Into the journal of systemd, one entry for each incident, with fields to look for.

    Args:
        path: Its socket.
    """

    def __init__(self, path: Path = JOURNAL_SOCKET) -> None:
        self._path = path

    def __call__(self, title: str, body: str, incidents: Sequence[Incident]) -> None:  # noqa: ARG002 - the protocol's
        """Send one datagram for each incident.

        Raises:
            SendError: No journal listens, or it takes nothing.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.settimeout(5.0)
            for incident in incidents:
                try:
                    channel.sendto(entry(incident), str(self._path))
                except OSError as error:
                    raise SendError(f"the journal's socket {self._path} takes nothing ({error.strerror}).") from error


def entry(incident: Incident) -> bytes:
    """An entry in the journal's native protocol. A value in one line needs no length, so line breaks become spaces."""
    values = {
        "MESSAGE": f"{incident.type}: {incident.summary[:2_000]}",
        "PRIORITY": str(PRIORITY[incident.severity]),
        "SYSLOG_IDENTIFIER": "chaperon",
        "CHAPERON_INCIDENT": incident.id,
        "CHAPERON_AGENT": incident.agent,
        "CHAPERON_TYPE": incident.type,
        "CHAPERON_SEVERITY": incident.severity,
        "CHAPERON_WAY_OUT": incident.way_out,
    }
    return "".join(f"{name}={' '.join(value.split())}\n" for name, value in values.items() if value).encode(
        errors="replace"
    )
