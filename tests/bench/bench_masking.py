"""What masking and encryption add to an event: of a whole run, from its line to the body that the journal writes.

usage: python -m tests.bench --only masking
"""

from time import process_time

from monitors.masking import Masker
from supervisor.protocol import events, records
from supervisor.runtime.protection.seals import RecordSeals
from tests.bench import bench_core
from tests.bench.bench_wire import READ_BYTES
from tests.bench.figures import Figure
from tests.eval.sessions import healthy

ROUNDS = 12


class Journalled(bench_core.Play):
    """A run whose events are written down."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        super().__init__()

    def _see(self, event: events.AnyEvent) -> None:
        self.bodies.append(records.spell(event))
        super()._see(event)


def run(stream: bytes) -> list[bytes]:
    """Play a run; return the bodies of its events."""
    play = Journalled()
    for at in range(0, len(stream), READ_BYTES):
        play.read(stream[at : at + READ_BYTES])
    hash_ = records.ORIGIN
    for number, body in enumerate(play.bodies):
        _, hash_ = records.frame(number, body, hash_)
    return play.bodies


def main() -> list[Figure]:
    """Measure both in turn, so that others on the machine slow both down."""
    stream = bench_core.supervised(healthy(1, 400))
    masker = Masker(b"k" * 32)
    one = b'{"agent":"a1","text":"write to anna@firma.de"}'
    bodies = run(stream)
    seals = RecordSeals([b"d" * 32], seals=True)
    clear, masking, sealing, masked = [], [], [], []
    for body in bodies:
        masker.mask(body)
    for _ in range(ROUNDS):
        began = process_time()
        run(stream)
        clear.append(process_time() - began)
        began = process_time()
        for body in bodies:
            masker.mask(body)
        masking.append(process_time() - began)
        began = process_time()
        for body in bodies:
            seals.event(body)
        sealing.append(process_time() - began)
        began = process_time()
        for _ in range(1_000):
            masker.mask(one)
        masked.append(process_time() - began)
    return [
        Figure("masking, of what an event of a run costs", 100 * min(masking) / min(clear), "%", 5),
        Figure("encryption, of what an event of a run costs", 100 * min(sealing) / min(clear), "%", 5),
        Figure("encrypting an event", 1e6 * min(sealing) / len(bodies), "µs"),
        Figure("masking an event that has nothing", 1e6 * min(masking) / len(bodies), "µs"),
        Figure("masking a short one that has a mail address", 1e3 * min(masked), "µs"),
    ]


if __name__ == "__main__":
    print(*main(), sep="\n")
