"""Attached sessions that call while the daemon is killed; the whole of it is in `tests.bench --only hooks_killed`."""

from pathlib import Path

import pytest

from tests.stages.hook_crowd import crowd

pytestmark = pytest.mark.slow

SESSIONS, CALLS = 3, 20


@pytest.mark.timeout(240)
def test_no_call_is_lost_or_unreviewed_while_the_daemon_is_killed_again_and_again(tmp_path: Path) -> None:
    with crowd(tmp_path, forked=True) as stage:
        stage.run([{"http": None}] * SESSIONS, CALLS, 0.05, kill_every=0.3)
        reviewed = stage.reviewed()
    assert stage.kills >= 2
    assert stage.refused == 0
    assert len(reviewed) == SESSIONS * CALLS
    assert reviewed.total() == len(reviewed)
