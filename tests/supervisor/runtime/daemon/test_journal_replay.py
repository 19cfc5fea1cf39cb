"""The journal of a daemon, replayed."""

from typing import Any

import pytest

from monitors.contract.issues import Issue
from supervisor.core.replay.journal_replay import rerun
from supervisor.protocol import events
from supervisor.runtime.assembly.detectors import MakeDetectors
from tests.stages.daemon import Base, ended, served

LIMITS = {"limit_reached", "limit_overrun"}


@pytest.mark.slow
async def test_a_live_runs_journal_gives_each_agents_issues_as_they_were(base: Base) -> None:
    base.plan(*["echo again"] * 4, "rm -rf /home/somebody", *["cat missing.txt"] * 4)
    async with served(base) as (daemon, _):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
            await ended(daemon, name)
    make = MakeDetectors.of(base.setup().config)
    journal = [(record.n, record.event) for record in base.records()]
    found = list(rerun(journal, None, lambda one: make(one.task, one.workspace, one.factors)))  # type: ignore[arg-type]
    assert [run.agent for run in found] == ["a1", "a2"]
    for run in found:
        seen = [one.issue for _, one in journal if isinstance(one, events.IssueSeen) and one.agent == run.agent]
        live = [issue for issue in seen if issue.type not in LIMITS]
        assert _without_details([at.issue for at in run.result.issues]) == _without_details(live)
        assert "repetition" in {issue.type for issue in live}
        assert run.result.actions == 9


def _without_details(issues: list[Issue]) -> list[Any]:
    """All that says which event showed what; details came back from JSON, which knows no tuples."""
    return [(one.type, one.key, one.closed, one.severity, one.began, one.evidence, one.sentence) for one in issues]
