"""What plays of scenarios show while they last; tests/end_to_end/test_commands.py plays the shipped ones."""

from pathlib import Path

import pytest

from supervisor.cli.commands.policy.rehearsing import REVIEWED, Played, Watch, play_out
from supervisor.config.paths import PlaceError


@pytest.fixture(autouse=True)
def _scratch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr("supervisor.cli.output.progress.QUIET_SECONDS", (0.0, 3_600.0))


async def two_calls(_base: Path, watch: Watch, _quiet: bool) -> Played:
    for _ in range(2):
        watch(b"{%s}\n" % REVIEWED)
    return {"scenario": "two"}, []


async def test_a_rehearsal_for_programs_says_how_far_it_is_apart_from_its_outcome(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert await play_out(two_calls, keep=False, as_json=True) == 0
    printed = capsys.readouterr()
    (told,) = printed.err.splitlines()
    assert told.startswith("rehearsing: 1 call, for ")
    assert '"passed":true' in printed.out.replace(" ", "")
    assert "rehearsing" not in printed.out


async def test_a_rehearsal_for_people_shows_its_calls_and_no_count_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert await play_out(two_calls, keep=False, as_json=False) == 0
    assert capsys.readouterr().err == ""


async def test_where_no_scratch_directory_can_be_made_that_is_said_and_nothing_is_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/dev/null")
    with pytest.raises(PlaceError, match=r"/dev/null/.*Not a directory") as refused:
        await play_out(two_calls, keep=False, as_json=False)
    assert "XDG_DATA_HOME" in refused.value.way_out
