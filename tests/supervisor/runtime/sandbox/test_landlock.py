"""The plan for the last step into a sandbox."""

import json

from supervisor.runtime.sandbox.landlock import EntryPlan, has_scopes, words


def test_a_plan_without_rules_about_files_names_no_path() -> None:
    plan = json.loads(EntryPlan(b"\x01\xff", read=("/usr",)).as_json())
    assert plan == {"filter": "01ff", "scoped": False, "files": False}


def test_a_plan_with_rules_names_the_paths() -> None:
    made = words("/usr/bin/python3", "/run/entry.py", EntryPlan(files=True, read=("/usr",), write=("/w",), scoped=True))
    assert made[:5] == ["/usr/bin/python3", "-I", "-S", "-E", "/run/entry.py"]
    assert json.loads(made[5]) == {"filter": "", "scoped": True, "files": True, "read": ["/usr"], "write": ["/w"]}


def test_scopes_are_there_from_the_sixth_version_on() -> None:
    assert [has_scopes(abi) for abi in (0, 5, 6, 9)] == [False, False, True, True]
