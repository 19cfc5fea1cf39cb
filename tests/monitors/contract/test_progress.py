"""Progress of long work in one form."""

import pytest

from monitors.contract.progress import WorkProgress, unreported


@pytest.mark.parametrize(
    ("progress", "sentence", "left"),
    [
        (
            WorkProgress("restoring", "a1", "file", 1_200, 3_000, 8.0),
            "restoring a1: 1,200 of 3,000 files, 40 %, 12.0 s left",
            12.0,
        ),
        (WorkProgress("capturing", "/w", "file", 64, None, 2.0), "capturing /w: 64 files, for 2.0 s", None),
        (WorkProgress("replaying", "", "MiB", 0, 40, 5.0), "replaying: 0 of 40 MiB, 0 %", None),
        (
            WorkProgress("adopting", "agents", "agent", 3, 2, 5.0),
            "adopting agents: 3 of 2 agents, 100 %, 0.0 ms left",
            0.0,
        ),
        (WorkProgress("adopting", "agents", "agent", 1, 2, 0.5), "adopting agents: 1 of 2 agents, 50 %", None),
    ],
)
def test_a_sentence_says_what_how_far_and_how_long_yet(
    progress: WorkProgress, sentence: str, left: float | None
) -> None:
    assert progress.sentence == sentence
    assert progress.left_seconds == pytest.approx(left)


def test_data_is_read_back_as_it_was() -> None:
    one = WorkProgress("restoring", "a1", "file", 12, 30, 8.0)
    assert WorkProgress.of(one.as_json()) == one
    with pytest.raises(KeyError):
        WorkProgress.of({"what": "restoring"})
    unreported(1, 2)
