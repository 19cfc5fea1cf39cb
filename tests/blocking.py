"""Calls that block the event loop fail a test, in the folders whose `conftest.py` takes the fixture from here."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import pytest
from blockbuster import BlockBuster

import supervisor

ALLOWED: tuple[tuple[str, frozenset[str]], ...] = (
    # A kernel file in memory, once at the start.
    ("supervisor/runtime/clock.py", frozenset({"boot_id"})),
    # One kernel file in memory, and only of a process that seems to be below an agent.
    ("supervisor/runtime/daemon/daemon.py", frozenset({"_is_below"})),
    # What a review asks of the disk: a few looks at single paths, microseconds each, since it must not wait for a thread.
    ("supervisor/runtime/filesystem.py", frozenset({"ignored", "kind", "names", "real", "stamp", "text"})),
    # What a correction asks of git: the path up to the worktree, and its configuration.
    ("checkpoints/workspace/repository.py", frozenset({"worktree_or_why"})),
    # What a correction asks of the workspace when one is chosen: bounded by entries and commits, some 20 ms in all.
    ("supervisor/runtime/assembly/workspace_facts.py", frozenset({"_entries", "_looked_at", "_node", "_python", "moved_to", "owner_and_mode"})),
    # What a test itself looks at between two steps.
    ("tests/supervisor/runtime/conftest.py", frozenset({"living", "clear", "eventually"})),
    ("tests/stages/house.py", frozenset({"events", "house", "make_workspace", "tree", "process"})),
    ("tests/supervisor/runtime/metrics/test_metrics.py", frozenset({
        "test_a_run_is_counted_as_it_was_and_served_on_the_socket_and_on_the_configured_port",
    })),
    ("tests/end_to_end/test_patterns.py", frozenset({
        "test_a_supervised_run_gives_the_same_issues_live_from_its_journal_and_from_the_shims_file",
    })),
    ("tests/stages/daemon.py", frozenset({"incidents", "records", "kinds", "events", "setup"})),
    ("tests/supervisor/runtime/shim/test_loop.py", frozenset({
        "cpu_ticks", "test_a_shim_that_fails_ends_the_agent_and_writes_down_why",
        "test_frozen_processes_stand_still_and_go_on_when_thawed",
    })),
    ("tests/supervisor/runtime/processes/test_shim_client.py", frozenset({
        "test_an_agent_speaks_is_spoken_to_and_ends_with_a_record",
        "test_a_launch_that_nobody_waited_for_leaves_no_agent", "test_what_cannot_be_started_says_why",
    })),
    ("tests/supervisor/runtime/processes/test_shim_remains.py", frozenset({"test_an_agent_that_ended_alone_left_all_it_said"})),
    ("tests/supervisor/runtime/processes/test_leftovers.py", frozenset({
        "lose", "test_while_the_shim_lives_nothing_is_left_over", "test_a_lost_agent_has_no_record_and_nobody_listens",
        "test_a_process_with_another_nonce_is_nobody_of_ours",
        "test_those_that_cleared_their_environment_are_found_with_a_cgroup_and_without",
        "test_one_that_lowers_its_mark_is_left_alone_and_named", "test_a_look_of_our_own_finds_who_lives",
        "test_an_agent_whose_shim_stands_still_is_ended_without_it", "test_another_agent_that_a_shim_watches_is_no_stray",
        "test_the_cli_does_not_outlive_its_shim_but_tools_do_until_they_are_ended",
    })),
)  # fmt: skip
"""Functions of ours that may block, by file, each with its reason."""


HERE = str(Path(supervisor.__file__).parent)
"""Where the functions are that may not block."""

_seen: dict[int, tuple[CodeType, bool | None]] = {}
"""Code that was on a stack, by its id: whether it may block, if it is ours or of `ALLOWED`. Kept, so that an id means one."""


def may_block() -> bool:
    """Whether the call may block for all that is on the stack: by a function of `ALLOWED`, or for want of one of ours.

    `blockbuster` compares each frame with each file, 0.1 ms for a call; here each function is compared once.
    """
    frame = inspect.currentframe()
    ours = False
    while frame is not None:
        code = frame.f_code
        may = (_seen.get(id(code)) or _judged(code))[1]
        if may:
            return True
        ours |= may is not None
        frame = frame.f_back
    return not ours


def _judged(code: CodeType) -> tuple[CodeType, bool | None]:
    allowed = any(code.co_filename.endswith(file) and code.co_name in names for file, names in ALLOWED)
    _seen[id(code)] = code, True if allowed else False if code.co_filename.startswith(HERE) else None
    return _seen[id(code)]


def _either(first: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *given, **named: first(*given, **named) or may_block()


@pytest.fixture(autouse=True)
def _no_blocking_calls() -> Iterator[None]:
    blocking = BlockBuster("supervisor")
    for function in blocking.functions.values():
        function.can_block_predicate = _either(function.can_block_predicate)
    blocking.activate()
    yield
    blocking.deactivate()
