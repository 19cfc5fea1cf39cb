import json

from supervisor.runtime.metrics.metric_table import METRICS
from tests.stages.daemon import Base
from tests.supervisor.cli.conftest import command


def test_the_dashboard_is_printed_whole_and_needs_no_daemon(base: Base) -> None:
    printed = command("dashboard")
    assert printed.exit_code == 0, printed.output
    queries = [target["expr"] for panel in json.loads(printed.output)["panels"] for target in panel["targets"]]
    assert any(metric.name in query for metric in METRICS for query in queries)
    assert not base.places.state.exists()
