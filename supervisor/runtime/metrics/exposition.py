"""The metrics as text, with values from files: written in the process that reads, and never in the daemon."""

import os
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as MetricFamily
from prometheus_client.registry import Collector

from checkpoints.store import stored
from supervisor.runtime.metrics.metrics import Counted, Metrics, MetricSeries, Sample

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
"""The text format's, which every version of Prometheus reads."""


def exposition(counted: bytes, journal: Path, checkpoints: Path) -> str:
    """The text that is served. Blocks.

    Args:
        counted: What `supervisor.runtime.metrics.gathering` gave, in this process or in the one that started it.
        journal: The journal's directory.
        checkpoints: The folder that has the stores of checkpoints.
    """
    known: Counted = pickle.loads(counted)  # noqa: S301 - our own
    stores = [
        ("chaperon_checkpoint_store_bytes", (project,), size) for project, size in stored.sizes(checkpoints).items()
    ]
    written = sum(path.stat().st_size for path in journal.glob("*.jsonl"))
    memory = int(Path(f"/proc/{known.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    on_disk = (("chaperon_daemon_memory_bytes", (), memory), ("chaperon_journal_bytes", (), written), *stores)
    return text(known.metrics, (*known.now, *on_disk))


def text(metrics: Metrics, now: Iterable[Sample] = ()) -> str:
    """Return all metrics, as Prometheus reads them; those of which there is nothing yet have their names alone.

    Args:
        metrics: The counters.
        now: Samples of gauges, read off now.
    """
    return generate_latest(_Collected([_family(series) for series in metrics.series(now)])).decode()


@dataclass(frozen=True, slots=True)
class _Collected(Collector):
    """The metrics of one moment, as the library collects them; nothing is registered with it for longer."""

    families: list[MetricFamily]

    def collect(self) -> Iterable[MetricFamily]:
        """Return it."""
        return self.families


def _family(series: MetricSeries) -> MetricFamily:
    metric = series.metric
    if metric.kind != "histogram":
        kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        family = kind(metric.name, metric.help, labels=metric.labels)
        for labels, value in series.values.items():
            family.add_metric(_writable(labels), value)
        return family
    spread = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    edges = [*map(_edge, metric.buckets), "+Inf"]
    for labels, histogram in series.histograms.items():
        spread.add_metric(
            _writable(labels), list(zip(edges, accumulate(histogram.counts), strict=True)), histogram.total
        )
    return spread


def _writable(labels: Iterable[str]) -> list[str]:
    """The values of labels without half characters, which stand for bytes of a path that are no UTF-8."""
    return [str(value).encode(errors="backslashreplace").decode() for value in labels]


def _edge(bound: float) -> str:
    """A bucket's bound, as its series have been named from the first version on: `1`, not `1.0`."""
    return str(int(bound)) if bound == int(bound) else repr(bound)
