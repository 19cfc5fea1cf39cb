"""The options of `run` and `task add`: what the API takes can be said on the command line."""

from dataclasses import fields
from typing import Any

import click
import orjson
import pytest
from click.testing import CliRunner

from interventions.approval import ApprovalSettings
from supervisor.cli.commands.work.run import run_command
from supervisor.cli.task_options import body_of, task_options
from supervisor.runtime.daemon.submission import OwnApproval, OwnLimits, Submission


@click.command()
@task_options
def options(**about: Any) -> None:
    click.echo(orjson.dumps(body_of(about, "own_limits")))


def body(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(options, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    said: dict[str, Any] = orjson.loads(done.output)
    return said


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-minutes", "1e300"),
        ("--approval-minutes", "1441"),
        ("--max-tokens", "1000000001"),
        ("--max-steps", "9" * 30),
    ],
)
def test_a_limit_that_the_daemon_does_not_take_is_refused_with_what_it_takes(option: str, value: str) -> None:
    """Before, the daemon's answer named its own fields."""
    done = CliRunner().invoke(options, [option, value])
    assert done.exit_code == 2
    assert f"Invalid value for '{option}'" in done.output
    assert "is not in the range" in done.output


VALUES = {
    "--approval": "ask", "--approval-minutes": "5", "--monitoring": "strict", "--permission-mode": "plan",
    "--max-cost": "2.5", "--max-minutes": "3", "--max-tokens": "7", "--max-memory-mb": "8", "--max-steps": "9",
    "--max-file-operations": "10",
}  # fmt: skip
"""Values for options that do not take any text."""


def everything() -> dict[str, Any]:
    given = [(one.opts[0], VALUES.get(one.opts[0], "word")) for one in options.params]
    return body(*(word for pair in given for word in pair))


def test_a_run_has_an_option_for_each_field_of_a_submission() -> None:
    said = {str(one.name) for one in run_command.params} | set(everything())
    said |= {"repository"}  # `--repo`
    assert set(Submission.model_fields) - {"limits"} <= said  # `own_limits` are single ones of `limits`
    assert set(everything()["own_limits"]) == set(OwnLimits.model_fields) - {"max_cost_usd"}  # a field of its own


def test_each_setting_of_approvals_has_an_option() -> None:
    assert (
        set(everything()["approval"]) == {one.name for one in fields(ApprovalSettings)} == set(OwnApproval.model_fields)
    )


@pytest.mark.parametrize(
    ("words", "approval"),
    [
        (("--approval", "ask"), {"mode": "ask"}),
        (("--approval-type", "network"), {"require_approval_for": ["network"]}),
        (("--approval-tool", "WebFetch"), {"tools": ["WebFetch"]}),
        (("--approval", "ask", "--no-approval-tool", "Edit"), {"mode": "ask", "auto_approve": ["Edit"]}),
        (("--approval-minutes", "1.5"), {"deadline_seconds": 90.0}),
    ],
)
def test_what_is_said_of_approvals_is_sent_and_nothing_else(words: tuple[str, ...], approval: dict[str, Any]) -> None:
    assert body(*words) == {"approval": approval}


def test_what_is_not_said_is_left_to_the_configuration() -> None:
    assert body() == {}


@pytest.mark.parametrize("option", ["--max-cost", "--max-minutes", "--approval-minutes"])
@pytest.mark.parametrize("number", ["nan", "inf", "1e400"])
def test_a_bound_that_is_no_finite_number_is_refused_and_not_sent_as_none(option: str, number: str) -> None:
    done = CliRunner().invoke(options, (option, number))
    assert done.exit_code == 2, done.output
    assert "no finite number" in done.output
