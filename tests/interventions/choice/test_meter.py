"""What was used, added up."""

from typing import Any

from interventions.choice.meter import UsageMeter
from interventions.contract import ResourceUsage
from monitors.contract.observations import ResourcesSampled, ToolReturned, UsageSeen


def returned(tool: str, **more: Any) -> ToolReturned:
    return ToolReturned(seq=1, mono=12.0, id="u", tool=tool, input={}, text="", **{"failed": False, **more})


def test_file_operations_tokens_memory_cost_and_time_are_added_up() -> None:
    meter = UsageMeter()
    for observation in (
        UsageSeen(seq=1, mono=10.0, tokens=9, cost_usd=0.1),
        returned("Write"),
        returned("Edit", failed=True),
        returned("Read"),
        ResourcesSampled(
            seq=2, mono=13.0, memory_mb=300.0, cpu_seconds=1, processes=2, open_files=3, io_bytes=4, disk_mb=5
        ),
        UsageSeen(seq=3, mono=14.0, tokens=13, cost_usd=0.2),
    ):
        meter.saw(observation)
    assert meter.usage(20.0) == ResourceUsage(1, 300.0, 10.0, 13, 0.2, 0)


def test_nothing_seen_is_nothing_used() -> None:
    assert UsageMeter().usage(5.0) == ResourceUsage(0, None, None, 0, None, 0)
