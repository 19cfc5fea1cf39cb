"""Each source file has a test file at the same path below `tests`."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FOLDERS = (
    "chaperon",
    "supervisor/runtime",
    "supervisor/cli",
    "supervisor/rehearsal",
    "supervisor/core",
    "supervisor/config",
    "supervisor/protocol",
    "supervisor/testing",
    "supervisor/panel",
    "supervisor/report",
    "supervisor/standalone",
    "supervisor/top",
    "host",
    "monitors/patterns",
    "interventions/kinds",
)
"""The packages of the application, and the folders to which most new parts go; the other folders of monitors, interventions
and checkpoints group their tests by what they show."""

WITHOUT = {
    "chaperon/calls.py": "tests/chaperon/test_client.py holds each method to its route",
    "chaperon/over.py": "tests/chaperon/test_client.py: both clients over a real daemon",
    # Types without behaviour: what they mean shows in those who make and take them.
    "monitors/contract/actions.py": "types; tests/supervisor/core/test_gate.py makes and reads them",
    "interventions/aftermath.py": "types; tests/supervisor/runtime/daemon/test_aftermath.py",
    "supervisor/protocol/commands.py": "types; tests/supervisor/core/test_session.py",
    "supervisor/protocol/events.py": "types; tests/supervisor/protocol/test_records.py spells and reads each",
    "supervisor/protocol/kinds/daemon.py": "types; tests/supervisor/protocol/test_records.py spells and reads each",
    "supervisor/protocol/kinds/decisions.py": "types; tests/supervisor/protocol/test_records.py spells and reads each",
    "supervisor/protocol/kinds/requests.py": "types; tests/supervisor/protocol/test_records.py spells and reads each",
    "supervisor/protocol/kinds/runs.py": "types; tests/supervisor/protocol/test_records.py spells and reads each",
    "supervisor/protocol/kinds/workspaces.py": "types; tests/supervisor/protocol/test_records.py spells and reads each",
    "supervisor/protocol/kinds/merges.py": "types; tests/supervisor/core/registers/test_merges.py folds each",
    "supervisor/runtime/merging/merge_rules.py": "settings; tests/supervisor/runtime/merging/test_merge_work.py",
    "supervisor/protocol/merges.py": "types; tests/supervisor/runtime/merging/test_merge_queue.py",
    "supervisor/runtime/api/routes/work/merges.py": "tests/supervisor/cli/commands/work/test_merge.py asks every route",
    "supervisor/runtime/daemon/running/runner_tools.py": "types; tests/supervisor/runtime/daemon/running/test_runner.py",
    "supervisor/runtime/daemon/repository_hooks.py": "tests/supervisor/runtime/daemon/test_hooks.py",
    "supervisor/runtime/processes/contained.py": "tests/supervisor/runtime/merging/test_verification.py runs programs of every kind by it",
    "supervisor/runtime/shim/enter.py": "tests/supervisor/runtime/merging/test_verification.py is run through it",
    "supervisor/rehearsal/fleets/director.py": "tests/end_to_end/test_fleet.py plays a whole fleet",
    "supervisor/rehearsal/fleets/fleet_run.py": "tests/end_to_end/test_fleet.py plays a whole fleet",
    "supervisor/runtime/api/routes/agents/autopilot.py": "tests/supervisor/runtime/services/people/test_autopilot.py asks each route",
    "supervisor/runtime/api/routes/work/tasks.py": "tests/supervisor/cli/commands/work/test_task.py asks each route",
    "supervisor/protocol/tasks.py": "types; tests/supervisor/core/tasks",
    "supervisor/protocol/kinds/orders.py": "types; tests/supervisor/core/registers/test_standing.py folds each",
    "supervisor/runtime/tasks/agents.py": "tests/supervisor/runtime/tasks/test_dispatcher.py starts agents by it",
    "supervisor/runtime/tasks/completion.py": "types; tests/supervisor/runtime/tasks/test_dispatcher.py",
    "supervisor/protocol/kinds/tasks.py": "types; tests/supervisor/core/tasks/test_store.py folds each",
    "supervisor/core/tasks/records.py": "types; tests/supervisor/core/tasks/test_store.py",
    "supervisor/protocol/projects.py": "types; tests/supervisor/runtime/projects",
    "supervisor/protocol/kinds/projects.py": "types; tests/supervisor/core/projects/test_known.py folds each",
    "supervisor/runtime/projects/worktrees.py": "tests/supervisor/runtime/projects/test_checkpoints.py finds them",
    "supervisor/runtime/projects/worktree_files.py": "tests/supervisor/runtime/projects/test_rollback.py, on real worktrees",
    "supervisor/runtime/projects/agents.py": "tests/supervisor/runtime/projects/test_rollback.py, on agents that have turns",
    "supervisor/runtime/projects/preview.py": "tests/supervisor/cli/commands/agents/test_project_rollback.py prints all of a plan",
    "supervisor/runtime/daemon/project_work.py": "tests/supervisor/runtime/projects",
    "supervisor/runtime/api/routes/agents/projects.py": "tests/supervisor/cli/commands/agents/test_project_checkpoints.py asks each route",
    "supervisor/protocol/rollbacks.py": "types; tests/supervisor/runtime/checkpointing/test_captures.py",
    "supervisor/protocol/identity.py": "types; tests/supervisor/runtime/processes/test_identity.py",
    "supervisor/runtime/gateway/messages.py": "types; tests/supervisor/runtime/gateway/test_exchange.py",
    "supervisor/core/settings.py": "types; tests/supervisor/config/test_model.py reads each from a configuration",
    "supervisor/protocol/export.py": "types; tests/supervisor/runtime/exporters/test_delivery.py",
    "interventions/decisions.py": "types; tests/supervisor/protocol/test_records.py",
    "interventions/kinds/emergency_stop.py": "tests/interventions/choice/test_controller.py chooses it",
    "monitors/contract/issues.py": "types; tests/supervisor/protocol/test_records.py",
    "monitors/contract/learning.py": "types; tests/monitors/test_learning.py",
    "monitors/contract/observations.py": "types; tests/supervisor/core/observing/test_observer.py",
    "supervisor/protocol/claude/settings.py": "types; tests/supervisor/config/test_brought.py",
    "supervisor/protocol/kinds/stamp.py": "a type; mypy checks each event that is made with it",
    "monitors/contract/tasks.py": "types; tests/supervisor/runtime/daemon/test_submission.py",
    "monitors/contract/todo.py": "types; tests/supervisor/core/fold/conversation/test_todo_list.py",
    "supervisor/protocol/words.py": "enumerations; tests/supervisor/core/test_states.py has each state",
    "supervisor/runtime/journal/errors.py": "exceptions; tests/supervisor/runtime/journal/test_journal.py meets each",
    "host/disk_errors.py": "sets; tests/supervisor/runtime/journal/test_journal.py and tests/supervisor/cli/test_main.py meet them",
    # Commands that are a process with signals, a terminal, or the real CLI.
    "supervisor/cli/commands/policy/replaying.py": "tests/supervisor/cli/commands/policy/test_replay.py, by the command",
    "supervisor/cli/commands/work/run.py": "tests/end_to_end/test_commands.py: in a pipe, on a terminal, with and without a daemon",
    "supervisor/cli/commands/policy/reviewing.py": "tests/supervisor/cli/commands/policy/test_review.py, by the commands",
    "supervisor/cli/commands/policy/rehearse.py": "tests/end_to_end/test_commands.py plays every shipped scenario",
    "supervisor/cli/commands/agents/checkpoints.py": "tests/supervisor/runtime/services/people/test_rollbacks.py runs the commands on a real run",
    "supervisor/cli/commands/agents/rollback.py": "tests/supervisor/runtime/services/people/test_rollbacks.py, on a real run",
    "checkpoints/restore/patches.py": "tests/supervisor/cli/commands/agents/test_diff.py, on real files of every kind",
    "checkpoints/branches.py": "tests/supervisor/cli/commands/agents/test_removal.py, on real worktrees",
    "supervisor/runtime/services/people/removal.py": "tests/supervisor/cli/commands/agents/test_removal.py, by a real daemon",
    "supervisor/cli/output/event_lines.py": "tests/supervisor/cli/output/test_view.py shows each",
    "supervisor/cli/client_errors.py": "errors; tests/supervisor/cli/test_client.py meets each",
    "supervisor/cli/many.py": "tests/supervisor/cli/commands/agents/test_agents.py steers one agent and all",
    "supervisor/testing/memory.py": "tests/bench/bench_detectors.py and supervisor/testing/detectors.py measure by it",
    "supervisor/testing/samples.py": "samples; the tests of interventions are made of them",
    # Tested by the module that is its whole use.
    "supervisor/protocol/moments.py": "types; tests/supervisor/core/fold/life/test_checkpoints.py makes and reads them",
    "supervisor/core/decisions/validation.py": "tests/supervisor/core/test_session.py asks what each state refuses",
    "supervisor/core/fold/controller_events.py": "tests/interventions/choice/test_controller.py plays whole runs through it",
    "supervisor/core/registers/known_discoveries.py": "tests/supervisor/core/test_discoveries.py folds and forgets them",
    "supervisor/core/timers.py": "names; tests/supervisor/core/test_session.py starts and stops each",
    "supervisor/core/fold/life/rollback.py": "a part of the fold: tests/supervisor/core/fold/life/test_checkpoints.py",
    "supervisor/cli/commands/work/discoveries.py": "tests/end_to_end/test_discoveries.py lists facts and takes one back",
    "supervisor/runtime/api/routes/work/discoveries.py": "tests/end_to_end/test_discoveries.py asks each route",
    "supervisor/runtime/api/routes/agents/checkpoints.py": "tests/supervisor/runtime/services/people/test_rollbacks.py asks every route",
    "supervisor/runtime/api/routes/agents/orders.py": "tests/supervisor/runtime/services/people/test_orders.py asks every route",
    "supervisor/runtime/daemon/orders.py": "tests/supervisor/runtime/services/people/test_orders.py meets each on a daemon",
    "supervisor/runtime/api/routes/service/outcomes.py": "tests/supervisor/cli/commands/policy/test_outcome.py asks every route",
    "supervisor/runtime/api/routes/service/budgets.py": "tests/supervisor/runtime/services/test_budgets.py asks it beside a daemon",
    "supervisor/runtime/api/routes/agents/agents.py": "tests/supervisor/runtime/api/test_app.py asks every route",
    "supervisor/runtime/api/routes/service/health.py": "tests/supervisor/runtime/api/test_app.py asks it of a daemon at work",
    "supervisor/runtime/daemon_parts.py": "protocols, which mypy holds the daemon to; tests/test_layers.py",
    "supervisor/runtime/api/routes/service/streams.py": "tests/supervisor/runtime/api/test_app.py reads and follows both",
    "supervisor/runtime/api/routes/service/metrics.py": "tests/supervisor/runtime/metrics/test_metrics.py scrapes it",
    "supervisor/runtime/metrics/exposition.py": "tests/supervisor/runtime/metrics/test_metrics.py scrapes what it writes",
    "supervisor/runtime/metrics/gathering.py": "tests/supervisor/runtime/metrics/test_metrics.py scrapes what it gathers",
    "supervisor/runtime/reading/reviews.py": "tests/supervisor/runtime/reading/test_process.py has a real process review",
    "supervisor/runtime/socket/json_protocol.py": "tests/supervisor/runtime/api/serving/test_bodies.py sends it bytes that are no HTTP",
    "supervisor/runtime/socket/peer.py": "tests/supervisor/runtime/api/test_app.py: who asked is in the journal",
    "supervisor/runtime/processes/bounds/priorities.py": "tests/supervisor/runtime/processes/bounds/test_limits.py, on real processes",
    "supervisor/runtime/daemon/running/runners.py": "tests/supervisor/runtime/daemon/test_daemon.py, and processes/test_adoption.py",
    "supervisor/runtime/serving.py": "tests/supervisor/runtime/test_service.py asks what is served",
    "supervisor/runtime/api/routes/agents/recovery.py": "tests/supervisor/runtime/services/people/test_recovery.py carries every option out",
    "supervisor/runtime/journal/writing/writer.py": "the thread of the journal: tests/supervisor/runtime/journal/test_journal.py",
    "supervisor/config/sections/interventions.py": "a section of settings: tests/supervisor/config/test_model.py",
    "supervisor/rehearsal/script.py": "types; tests/supervisor/rehearsal/test_model.py plays each",
    "supervisor/rehearsal/expect.py": "types; tests/supervisor/rehearsal/test_check.py meets each",
    "supervisor/rehearsal/play.py": "tests/supervisor/rehearsal/test_model.py plays every failure over a real connection",
    "supervisor/rehearsal/reply.py": "tests/supervisor/rehearsal/test_model.py reads every event it makes",
    "supervisor/runtime/processes/agent_link.py": "a type; mypy checks the two that are of it",
    "supervisor/runtime/attached/attaching.py": "tests/end_to_end/test_attaching.py: a real CLI, new and found again",
    "supervisor/runtime/attached/cli_process.py": "tests/end_to_end/test_attaching.py finds, holds and ends a real CLI",
    "supervisor/rehearsal/connection.py": "tests/supervisor/rehearsal/test_model.py speaks with it over a real socket",
    "supervisor/cli/commands/agents/timeline.py": "tests/supervisor/report/test_tally.py shows one of a run",
    "supervisor/report/markdown.py": "tests/supervisor/report/test_tally.py",
    "supervisor/report/command.py": "tests/supervisor/report/test_tally.py runs it beside a daemon",
    "supervisor/report/page.py": "tests/supervisor/report/test_tally.py reads the file that it makes",
    "supervisor/top/command.py": "tests/supervisor/top/test_app.py: driven in a terminal of 80 by 24",
    "supervisor/top/screens.py": "tests/supervisor/top/test_app.py: driven in a terminal of 80 by 24",
    "supervisor/panel/feed.py": "tests/supervisor/panel/test_live.py: across restarts of the daemon",
    "supervisor/panel/reading.py": "tests/supervisor/panel/test_app.py reads pages made of it",
    "supervisor/panel/access/serving.py": "tests/supervisor/panel/access/test_door.py: an agent's process is turned away",
    "supervisor/panel/pages/agents/agent.py": "tests/supervisor/panel/test_app.py, and tests/end_to_end/test_panel.py in a browser",
    "supervisor/panel/pages/agents/board.py": "tests/supervisor/panel/test_app.py and test_live.py, and tests/end_to_end/test_panel.py in a browser",
    "supervisor/panel/pages/checkpoints.py": "tests/end_to_end/test_panel.py: kept, gone back to, undone",
    "supervisor/panel/pages/agents/diff.py": "tests/end_to_end/test_panel.py",
    "supervisor/panel/pages/policy.py": "tests/supervisor/panel/test_app.py: a command explained, an allowance revoked",
    "supervisor/cli/commands/policy/replay_page.py": "tests/supervisor/cli/commands/policy/test_replay_against.py writes one",
    "supervisor/panel/pages/trials.py": "tests/supervisor/panel/test_trials.py asks for each page",
    "supervisor/runtime/api/routes/service/long_work.py": "tests/supervisor/runtime/test_long_work.py asks it of a daemon",
    "supervisor/panel/pages/projects.py": "tests/supervisor/panel/test_acting.py keeps a project, and a browser shows each page",
    "supervisor/panel/pages/discoveries.py": "tests/end_to_end/test_panel_pages.py shows it in a browser",
    "supervisor/panel/pages/agents/use.py": "tests/end_to_end/test_panel_pages.py shows it in a browser, with its figures",
    "supervisor/panel/pages/reports.py": "tests/supervisor/panel/test_app.py",
    "supervisor/panel/pages/layout.py": "tests/end_to_end/test_panel.py in a browser",
    "supervisor/panel/pages/parts.py": "tests/supervisor/panel/test_app.py: nothing that an agent writes is markup",
    "supervisor/panel/pages/sign_in.py": "tests/supervisor/panel/access/test_door.py",
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
