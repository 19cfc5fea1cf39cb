"""Each source file has a test file at the same path below `tests`."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FOLDERS = (
    "supervisor/runtime",
    "supervisor/cli",
    "supervisor/rehearsal",
    "supervisor/core",
    "supervisor/config",
    "supervisor/protocol",
    "supervisor/testing",
)
"""The packages of the application; the folders of monitors, interventions and checkpoints group their tests by what they show."""

WITHOUT = {
    # Types without behaviour: what they mean shows in those who make and take them.
    "supervisor/protocol/actions.py": "types; tests/supervisor/core/test_gate.py makes and reads them",
    "supervisor/protocol/aftermath.py": "types; tests/supervisor/runtime/test_aftermath.py",
    "supervisor/protocol/commands.py": "types; tests/supervisor/core/test_session.py",
    "supervisor/protocol/events.py": "types; tests/supervisor/protocol/test_records.py spells and reads each",
    "supervisor/protocol/identity.py": "types; tests/supervisor/runtime/test_identity.py",
    "supervisor/protocol/export.py": "types; tests/supervisor/runtime/test_exporting.py",
    "supervisor/protocol/interventions.py": "types; tests/supervisor/protocol/test_records.py",
    "supervisor/protocol/issues.py": "types; tests/supervisor/protocol/test_records.py",
    "supervisor/protocol/learning.py": "types; tests/monitors/test_learning.py",
    "supervisor/protocol/observations.py": "types; tests/supervisor/core/test_observe.py",
    "supervisor/protocol/settings.py": "types; tests/supervisor/config/test_brought.py",
    "supervisor/protocol/tasks.py": "types; tests/supervisor/runtime/test_submission.py",
    "supervisor/protocol/todo.py": "types; tests/supervisor/core/test_todo_list.py",
    "supervisor/protocol/words.py": "enumerations; tests/supervisor/core/test_states.py has each state",
    "supervisor/runtime/journal_errors.py": "exceptions; tests/supervisor/runtime/test_journal.py meets each",
    # Commands that are a process with signals, a terminal, or the real CLI.
    "supervisor/cli/run.py": "tests/end_to_end/test_commands.py: in a pipe, on a terminal, with and without a daemon",
    "supervisor/cli/serve.py": "tests/end_to_end/test_commands.py, and tests/systemd",
    "supervisor/cli/rehearse.py": "tests/end_to_end/test_commands.py plays every shipped scenario",
    "supervisor/cli/checkpoints.py": "tests/supervisor/runtime/test_rollbacks.py runs the commands on a real run",
    "supervisor/cli/rollback.py": "tests/supervisor/runtime/test_rollbacks.py, on a real run",
    "supervisor/testing/memory.py": "tests/bench/bench_detectors.py and supervisor/testing/detectors.py measure by it",
    "supervisor/testing/samples.py": "samples; the tests of interventions are made of them",
    # Tested by the module that is its whole use.
    "supervisor/protocol/moments.py": "types; tests/supervisor/core/test_captures.py makes and reads them",
    "supervisor/core/wishes.py": "tests/supervisor/core/test_session.py wishes what each state refuses",
    "supervisor/core/controller_events.py": "tests/interventions/test_controller.py plays whole runs through it",
    "supervisor/core/timers.py": "names; tests/supervisor/core/test_session.py starts and stops each",
    "supervisor/core/going_back.py": "a part of the fold: tests/supervisor/core/test_captures.py",
    "supervisor/runtime/allowance_api.py": "tests/end_to_end/test_reviews.py asks every route, and an agent is turned away",
    "supervisor/runtime/checkpoint_api.py": "tests/supervisor/runtime/test_rollbacks.py asks every route",
    "supervisor/runtime/outcome_api.py": "tests/supervisor/cli/test_outcome.py asks every route",
    "supervisor/runtime/metrics_api.py": "tests/supervisor/runtime/test_metrics.py scrapes it",
    "supervisor/runtime/exposition.py": "tests/supervisor/runtime/test_metrics.py scrapes what it writes",
    "supervisor/runtime/gathering.py": "tests/supervisor/runtime/test_metrics.py scrapes what it gathers",
    "supervisor/runtime/reading/reviews.py": "tests/supervisor/runtime/reading/test_process.py has a real process review",
    "supervisor/runtime/json_protocol.py": "tests/supervisor/runtime/test_bodies.py sends it bytes that are no HTTP",
    "supervisor/runtime/peer.py": "tests/supervisor/runtime/test_api.py: who asked is in the journal",
    "supervisor/runtime/priorities.py": "tests/supervisor/runtime/test_enforcement.py, on real processes",
    "supervisor/runtime/recovery_api.py": "tests/supervisor/runtime/test_recovering.py carries every option out",
    "supervisor/runtime/journal_writer.py": "the thread of the journal: tests/supervisor/runtime/test_journal.py",
    "supervisor/config/interventions.py": "a section of settings: tests/supervisor/config/test_model.py",
    "supervisor/rehearsal/script.py": "types; tests/supervisor/rehearsal/test_model.py plays each",
    "supervisor/rehearsal/expect.py": "types; tests/supervisor/rehearsal/test_check.py meets each",
    "supervisor/rehearsal/play.py": "tests/supervisor/rehearsal/test_model.py plays every failure over a real connection",
    "supervisor/rehearsal/reply.py": "tests/supervisor/rehearsal/test_model.py reads every event it makes",
    "supervisor/rehearsal/connection.py": "tests/supervisor/rehearsal/test_model.py speaks with it over a real socket",
}  # fmt: skip
"""Source files without a test file of their own, each with where it is tested instead."""


def sources() -> list[Path]:
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(path.relative_to(ROOT) for path in found if path.name != "__init__.py")


def mirrored(source: Path) -> bool:
    folder = ROOT / "tests" / source.parent
    return (folder / f"test_{source.name}").is_file()


@pytest.mark.parametrize("source", sources(), ids=str)
def test_a_source_file_has_its_test_file_or_a_reason(source: Path) -> None:
    assert mirrored(source) or str(source) in WITHOUT


@pytest.mark.parametrize("source", sorted(WITHOUT))
def test_an_exception_is_of_a_file_that_is_there_and_needs_it(source: str) -> None:
    assert (ROOT / source).is_file()
    assert not mirrored(Path(source))
