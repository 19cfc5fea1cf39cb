"""The plan for the last step into a sandbox."""

import os
import subprocess
import sys

import pytest

from supervisor.runtime.sandbox import entry
from supervisor.runtime.sandbox.landlock import PERL, EntryPlan, has_scopes, words, words_apart


def test_a_plan_without_rules_about_files_names_no_path() -> None:
    assert [*EntryPlan(b"\x01\xff", read=("/usr",)).words()] == ["--filter", "01ff"]


def test_a_plan_with_rules_names_the_paths() -> None:
    plan = EntryPlan(
        files=True, read=("/usr", "--"), write=("/w",), scoped=True, processes=3, proxy=("/py", "/e", "/s")
    )
    made = words(["/run/entry"], plan)
    assert made[:8] == ["/run/entry", "--scoped", "--processes", "3", "--proxy", "/py", "/e", "/s"]
    assert made[8:] == ["--files", "--read", "/usr", "--read", "--", "--write", "/w", "--"]


def test_scopes_are_there_from_the_sixth_version_on() -> None:
    assert [has_scopes(abi) for abi in (0, 5, 6, 9)] == [False, False, True, True]


@pytest.mark.skipif(entry.abi() < 6, reason=f"Landlock {entry.abi()} has no scopes")
@pytest.mark.parametrize(
    "perl", [False, pytest.param(True, marks=pytest.mark.skipif(not PERL.is_file(), reason="there is no Perl"))]
)
def test_a_command_that_is_kept_apart_runs_as_it_was_and_signals_no_other(*, perl: bool) -> None:
    command = f"printf '%s\\n' \"a'b\" 'c d'; kill -0 {os.getpid()} || exit 7"
    sandboxed = words([sys.executable, entry.__file__], EntryPlan())
    apart = words_apart([sys.executable, entry.__file__], perl=perl)
    done = subprocess.run([*sandboxed, *apart, command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "a'b\nc d\n"), done.stderr
