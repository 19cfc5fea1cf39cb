"""The table of metrics, and the dashboard that is drawn from it."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from supervisor.runtime.metrics.metric_table import BY_SERIES, METRICS, Metric

DASHBOARD = Path(__file__).parents[4] / "supervisor/runtime/dashboards/chaperon.json"
PANELS: list[dict[str, Any]] = orjson.loads(DASHBOARD.read_bytes())["panels"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
LEGENDS = [(target["expr"], target["legendFormat"]) for panel in PANELS for target in panel["targets"]]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_named_as_prometheus_asks(metric: Metric) -> None:
    assert re.fullmatch(r"chaperon_[a-z][a-z_]*[a-z]", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.help.endswith(".")
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert len(metric.labels) <= 3, "each label multiplies the series"


def test_no_name_is_there_twice() -> None:
    assert len(BY_SERIES) == sum(len(metric.series()) for metric in METRICS)


def names(query: str) -> set[str]:
    return set(re.findall(r"\bchaperon_\w+", query))


@pytest.mark.parametrize("query", QUERIES)
def test_the_dashboard_asks_only_for_metrics_that_there_are(query: str) -> None:
    assert names(query)
    assert names(query) <= BY_SERIES.keys()


@pytest.mark.parametrize("query", QUERIES)
def test_the_dashboard_groups_only_by_labels_that_there_are_and_takes_rates_of_counters(query: str) -> None:
    labels = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
    known = {label for name in names(query) for label in BY_SERIES[name].labels} | {"le"}
    assert labels <= known
    for name in re.findall(r"(?:rate|increase)\((\w+)\[", query):
        assert BY_SERIES[name].kind in ("counter", "histogram")
    for name in names(query) - set(re.findall(r"(?:rate|increase)\((\w+)\[", query)):
        assert BY_SERIES[name].kind == "gauge"


@pytest.mark.parametrize(("query", "legend"), LEGENDS)
def test_a_legend_names_only_labels_that_its_query_keeps(query: str, legend: str) -> None:
    grouped = re.findall(r"by \(([^)]*)\)", query)
    kept = {label.strip() for group in grouped for label in group.split(",")} if grouped else set()
    plain = {label for name in names(query) for label in BY_SERIES[name].labels} if not grouped else set()
    assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= kept | plain


def test_types_effectiveness_and_escalation_are_drawn() -> None:
    titles = {panel["title"] for panel in PANELS}
    assert {"Interventions by type", "Intervention effectiveness", "Escalation rate"} <= titles
