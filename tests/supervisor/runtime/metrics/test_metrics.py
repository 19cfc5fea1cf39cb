"""What Prometheus reads: every name of the table and no other, and figures that are what happened."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from interventions.decisions import Fate, InterventionOutcome, Judgement
from interventions.effectiveness import EffectRecord
from interventions.words import InterventionKind
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.metrics.exposition import text
from supervisor.runtime.metrics.metric_table import BY_SERIES, METRICS
from supervisor.runtime.metrics.metrics import Metrics
from tests.stages.daemon import Base, client_on, metrics_of, served
from tests.stages.house import bash, house, say
from tests.stages.ports import kept_port

SAMPLE = re.compile(r'^([a-z_]+)(\{[a-z_]+="(?:[^"\\]|\\.)*"(?:,[a-z_]+="(?:[^"\\]|\\.)*")*\})? (-?[0-9.e+-]+|NaN)$')


def samples(served: str) -> dict[str, float]:
    """Every sample by its name with labels; fails at a line that the format does not know."""
    found = {}
    for line in served.splitlines():
        if line.startswith("#"):
            assert re.match(r"^# (HELP|TYPE) [a-z_]+ .+$", line), line
            continue
        match = SAMPLE.match(line)
        assert match, line
        found[match[1] + (match[2] or "")] = float(match[3])
    return found


def judged(number: int, outcome: InterventionOutcome) -> events.InterventionJudged:
    about = Judgement(
        f"i-{number}", InterventionKind.SOFT_CORRECTION, "repetition", Fate.ENDED, outcome, 5, 9.0, 0.0, "It ended."
    )
    return events.InterventionJudged(agent="a1", at=1.0, mono=1.0, judgement=about)


def test_every_documented_name_is_served_and_no_other() -> None:
    served = text(Metrics())
    assert re.findall(r"^# TYPE (\w+) (\w+)$", served, re.MULTILINE) == [(each.name, each.kind) for each in METRICS]


def test_a_name_that_is_not_documented_cannot_be_counted() -> None:
    with pytest.raises(KeyError):
        Metrics().add("chaperon_novelty_total")


def test_a_histogram_counts_upwards_and_its_last_bucket_is_its_count() -> None:
    metrics = Metrics()
    for seconds in (0.00001, 0.0002, 0.0002, 7.0):
        metrics.observe("chaperon_review_seconds", seconds)
    found = samples(text(metrics))
    buckets = [value for name, value in found.items() if name.startswith("chaperon_review_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert found['chaperon_review_seconds_bucket{le="1e-05"}'] == 1
    assert found['chaperon_review_seconds_bucket{le="0.00025"}'] == 3
    assert found['chaperon_review_seconds_bucket{le="+Inf"}'] == found["chaperon_review_seconds_count"] == 4
    assert found["chaperon_review_seconds_sum"] == pytest.approx(7.00041)


def test_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.add("chaperon_journal_events_total", 'odd "kind"\n\\')
    assert samples(text(metrics))['chaperon_journal_events_total{kind="odd \\"kind\\"\\n\\\\"}'] == 1


def test_a_label_of_bytes_that_are_no_text_is_served_and_told_from_another() -> None:
    """A project's path may have any bytes; one such path took all metrics away."""
    metrics = Metrics()
    named = [("chaperon_checkpoint_store_bytes", (f"/p/{os.fsdecode(bytes([byte]))}",), 1.0) for byte in (0xFE, 0xFF)]
    found = samples(text(metrics, named).encode().decode())
    assert len([name for name in found if name.startswith("chaperon_checkpoint_store_bytes")]) == 2


def test_the_text_is_read_by_the_library_as_what_was_counted() -> None:
    """Help, kinds, names of buckets and figures, however large or small."""
    metrics = Metrics()
    metrics.observe("chaperon_checkpoint_seconds", 0.7)
    metrics.add("chaperon_reviews_total", "allow", value=2**53)
    read = {
        family.name: family
        for family in text_string_to_metric_families(text(metrics, [("chaperon_cost_usd_today", (), 1e-9)]))
    }
    assert [family.documentation for family in read.values()] == [metric.help for metric in METRICS]
    assert [(sample.labels, sample.value) for sample in read["chaperon_reviews"].samples] == [
        ({"decision": "allow"}, 2**53)
    ]
    assert read["chaperon_cost_usd_today"].samples[0].value == 1e-9
    buckets = [sample.labels["le"] for sample in read["chaperon_checkpoint_seconds"].samples if "le" in sample.labels]
    assert buckets == ["0.001", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "10", "+Inf"]


@pytest.mark.slow
def test_a_daemon_does_not_load_the_library_that_another_process_writes_with() -> None:
    loads = "import sys, supervisor.runtime.service; print('prometheus_client' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", loads], text=True).strip() == "False"


def test_effectiveness_is_of_all_runs_and_counted_once() -> None:
    record = EffectRecord()
    metrics = Metrics(record)
    for number, outcome in enumerate(
        [
            InterventionOutcome.SUCCESS,
            InterventionOutcome.SUCCESS,
            InterventionOutcome.FAILURE,
            InterventionOutcome.UNCLEAR,
        ],
        1,
    ):
        metrics.saw(number, judged(number, outcome))
    metrics.saw(1, judged(1, InterventionOutcome.SUCCESS))
    labels = '{intervention_type="soft_correction",issue_type="repetition"}'
    found = samples(text(metrics))
    assert found[f"chaperon_intervention_effectiveness_ratio{labels}"] == pytest.approx(2 / 3)
    assert found[f"chaperon_intervention_effectiveness_low_ratio{labels}"] < 2 / 3
    assert samples(text(Metrics(EffectRecord.from_json(record.as_json()))))[
        f"chaperon_intervention_effectiveness_ratio{labels}"
    ] == pytest.approx(2 / 3)


@pytest.fixture
def port() -> Iterator[int]:
    with kept_port() as kept:
        yield kept


@pytest.mark.real_cli
async def test_a_run_is_counted_as_it_was_and_served_on_the_socket_and_on_the_configured_port(
    tmp_path: Path, port: int
) -> None:
    policy = {"metrics": {"listen": f"127.0.0.1:{port}"}}
    async with house(tmp_path, bash("ls"), bash("rm -rf /home"), say("Done."), policy=policy) as made:
        await made.submit()
        assert (await made.ended()).after is AgentState.DONE
        found = samples(await metrics_of(made.daemon))
        assert found['chaperon_reviews_total{decision="allow"}'] == 1
        assert found['chaperon_reviews_total{decision="block"}'] == 1
        assert found["chaperon_review_seconds_count"] == 2
        assert found['chaperon_agents_ended_total{state="done"}'] == 1
        assert found['chaperon_turns_total{outcome="succeeded"}'] == 1
        assert found['chaperon_tokens_total{kind="output"}'] > 0
        assert found['chaperon_journal_events_total{kind="line_received"}'] == len(made.events(events.LineReceived))
        assert found['chaperon_checkpoints_total{reason="start"}'] == 1
        assert found["chaperon_checkpoint_seconds_count"] == len(made.events(events.CheckpointMade))
        sizes = [value for name, value in found.items() if name.startswith("chaperon_checkpoint_store_bytes{project=")]
        assert len(sizes) == 1
        assert sizes[0] > 1_000
        assert found["chaperon_daemon_memory_bytes"] > 10_000_000
        await made.daemon.journal.synced(made.daemon.journal.last)
        synced = samples(await metrics_of(made.daemon))["chaperon_journal_sync_seconds_count"]
        assert 1 <= synced <= made.daemon.journal.last, "each sync is counted once"
        assert {name.partition("{")[0] for name in found} <= set(BY_SERIES)
        async with httpx.AsyncClient(trust_env=False, timeout=30, verify=False) as web:
            served = await web.get(f"http://127.0.0.1:{port}/metrics")
            assert served.headers["content-type"].startswith("text/plain; version=0.0.4")
            assert samples(served.text)['chaperon_reviews_total{decision="block"}'] == 1
            assert (await web.get(f"http://127.0.0.1:{port}/v1/agents")).status_code == 404
        async with client_on(made.setup.places.socket) as local:
            assert samples((await local.get("/metrics")).text).keys() >= found.keys()


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "[::1]"])
async def test_the_port_answers_who_calls_it_by_this_machines_own_name_and_no_page_of_the_web(
    base: Base, address: str
) -> None:
    """A page can let a name of its own point to this machine; a browser here then asks for that name."""
    with kept_port(address.strip("[]")) as port:
        base.config["metrics"] = {"listen": f"{address}:{port}"}
        async with served(base), httpx.AsyncClient(trust_env=False, timeout=30, verify=False) as web:
            url = f"http://{address}:{port}/metrics"
            assert (await web.get(url)).status_code == 200
            for name in (
                "evil.example",
                f"evil.example:{port}",
                "127.0.0.1.evil.example",
                "localhost.evil.example",
                "",
            ):
                refused = await web.get(url, headers={"host": name})
                assert refused.status_code == 400
                assert "chaperon_" not in refused.text
