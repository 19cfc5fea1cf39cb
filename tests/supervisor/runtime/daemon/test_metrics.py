"""What Prometheus reads: every name of the table and no other, and figures that are what happened."""

import re
import socket
from pathlib import Path

import httpx
import pytest

from interventions.decisions import Fate, InterventionOutcome, Judgement
from interventions.effectiveness import EffectRecord
from interventions.words import InterventionKind
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.metric_table import BY_SERIES, METRICS
from supervisor.runtime.daemon.metrics import Metrics
from tests.daemons import Base, metrics_of, served
from tests.house import bash, house, say

SAMPLE = re.compile(r'^([a-z_]+)(\{[a-z_]+="(?:[^"\\]|\\.)*"(?:,[a-z_]+="(?:[^"\\]|\\.)*")*\})? (-?[0-9.e+-]+|NaN)$')


def samples(text: str) -> dict[str, float]:
    """Every sample by its name with labels; fails at a line that the format does not know."""
    found = {}
    for line in text.splitlines():
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
    text = Metrics().text()
    assert re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE) == [(each.name, each.kind) for each in METRICS]


def test_a_name_that_is_not_documented_cannot_be_counted() -> None:
    with pytest.raises(KeyError):
        Metrics().add("chaperon_novelty_total")


def test_a_histogram_counts_upwards_and_its_last_bucket_is_its_count() -> None:
    metrics = Metrics()
    for seconds in (0.00001, 0.0002, 0.0002, 7.0):
        metrics.observe("chaperon_review_seconds", seconds)
    found = samples(metrics.text())
    buckets = [value for name, value in found.items() if name.startswith("chaperon_review_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert found['chaperon_review_seconds_bucket{le="1e-05"}'] == 1
    assert found['chaperon_review_seconds_bucket{le="0.00025"}'] == 3
    assert found['chaperon_review_seconds_bucket{le="+Inf"}'] == found["chaperon_review_seconds_count"] == 4
    assert found["chaperon_review_seconds_sum"] == pytest.approx(7.00041)


def test_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.add("chaperon_journal_events_total", 'odd "kind"\n\\')
    assert samples(metrics.text())['chaperon_journal_events_total{kind="odd \\"kind\\"\\n\\\\"}'] == 1


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
    found = samples(metrics.text())
    assert found[f"chaperon_intervention_effectiveness_ratio{labels}"] == pytest.approx(2 / 3)
    assert found[f"chaperon_intervention_effectiveness_low_ratio{labels}"] < 2 / 3
    assert samples(Metrics(EffectRecord.from_json(record.as_json())).text())[
        f"chaperon_intervention_effectiveness_ratio{labels}"
    ] == pytest.approx(2 / 3)


@pytest.mark.real_cli
async def test_a_run_is_counted_as_it_was_and_served_on_the_socket_and_on_the_configured_port(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
        async with httpx.AsyncClient(trust_env=False) as web:
            served = await web.get(f"http://127.0.0.1:{port}/metrics")
            assert served.headers["content-type"].startswith("text/plain; version=0.0.4")
            assert samples(served.text)['chaperon_reviews_total{decision="block"}'] == 1
            assert (await web.get(f"http://127.0.0.1:{port}/v1/agents")).status_code == 404
        transport = httpx.AsyncHTTPTransport(uds=str(made.setup.places.socket))
        async with httpx.AsyncClient(transport=transport, base_url="http://chaperon") as local:
            assert samples((await local.get("/metrics")).text).keys() >= found.keys()


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "[::1]"])
async def test_the_port_answers_who_calls_it_by_this_machines_own_name_and_no_page_of_the_web(
    base: Base, address: str
) -> None:
    """A page can let a name of its own point to this machine; a browser here then asks for that name."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address.strip("[]"), 0))
        port = probe.getsockname()[1]
    base.config["metrics"] = {"listen": f"{address}:{port}"}
    async with served(base), httpx.AsyncClient(trust_env=False) as web:
        url = f"http://{address}:{port}/metrics"
        assert (await web.get(url)).status_code == 200
        for name in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", ""):
            refused = await web.get(url, headers={"host": name})
            assert refused.status_code == 400
            assert "chaperon_" not in refused.text
