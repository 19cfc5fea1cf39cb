"""What can be done in the panel, beside what can be done at all."""

import re
from collections.abc import Mapping

import pytest

from monitors.contract.errors import UsageError
from supervisor.panel.actions import ACTIONS, PanelAction
from tests.drawings import described_api

NOT_HERE: Mapping[str, str] = {
    "POST /v1/review": "it changes nothing; the policy page asks it",
    "POST /v1/checkpoints/{name}/plan": "it changes nothing; the checkpoint's page asks it",
    "POST /v1/merges/{name}/plan": "it changes nothing; the task's page shows the merge",
    "POST /v1/project-checkpoints/{name}/plan": "it changes nothing; the project's page asks it",
    "POST /v1/trust": "it lets programs of a repository run as the person, so it is typed where its text is shown whole",
    "POST /v1/trust/programs": "it lets programs of the configuration run as the person: typed where they are shown",
    "POST /v1/agents/{agent}/forget": "it deletes all that was written of an agent, and nothing undoes that",
    "POST /v1/checkpoint-stores/delete": "it deletes all checkpoints of a project, and nothing undoes that",
}
"""Requests that change something or look like it and that the panel does not send, each with the reason."""


class Any(dict[str, str]):
    """Has every part of a path, by a letter that needs no quoting."""

    def get(self, _key: str, _default: object = None) -> str:
        return "x"


def target(action: PanelAction) -> str:
    return f"{action.method} {action.target(Any())}"


def changing() -> list[str]:
    paths = described_api()["paths"]
    return [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods if method != "get"]


@pytest.mark.parametrize("route", changing())
def test_the_panel_does_what_the_daemon_can_be_asked_for_or_says_why_not(route: str) -> None:
    there = re.compile(re.sub(r"\\{control\\}", r"\\w+", re.sub(r"\\{(?!control)\w+\\}", "x", re.escape(route))))
    done = [action.path for action in ACTIONS if there.fullmatch(target(action))]
    assert (route in NOT_HERE) != bool(done), done or "neither an action nor a reason"


def test_each_reason_is_about_a_request_that_there_is() -> None:
    assert set(NOT_HERE) <= set(changing())


@pytest.mark.parametrize("control", ["pause", "resume", "say", "stop"])
def test_each_order_to_all_agents_can_be_given(control: str) -> None:
    assert f"POST /v1/orders/{control}" in {target(action) for action in ACTIONS}


def test_an_empty_number_is_none_and_a_word_is_refused() -> None:
    (allow,) = [one for one in ACTIONS if one.path == "/agents/{agent}/allowances"]
    assert allow.body({"text": "ls"}) == {"rule": "", "tool": "", "text": "ls", "once": True, "seconds": None}
    assert allow.body({"text": "ls", "minutes": "1,5"})["seconds"] == 90.0
    for wrong in ("soon", "nan", "inf", "1e400"):
        with pytest.raises(UsageError, match=f"'{wrong}' is no finite number"):
            allow.body({"minutes": wrong})
