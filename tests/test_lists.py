"""Lists that must follow another list: each is derived from it or held to it here, so that nothing new is forgotten in one of them."""

import re
import typing
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from interventions.advice import COMBINED
from interventions.approval import ApprovalSettings
from interventions.choice import limit_guard
from interventions.contract import ResourceUsage
from interventions.decisions import LimitsInForce
from interventions.ladders import LADDERS
from interventions.recovery_options import LEAST, STRICT_TOOLS, strict_limits
from monitors.contract.actions import AGENT_TOOLS, CHANGING_TOOLS, SHELL_TOOLS, WEB_TOOLS
from monitors.contract.tasks import Limits, Task
from monitors.contract.words import Decision, Severity
from monitors.detectors import DetectorSettings, make_detectors
from monitors.review.rules.definitions import RISKS
from monitors.review.rules.rules import Program, Rewrite, Rule, Undo
from monitors.review.shell.launchers import Inside, LauncherLayout
from monitors.review.tools import is_known
from monitors.review.user_rules import RISKS as RISKS_OF_DECISIONS
from monitors.review.verdict.rewrites import REWRITES
from supervisor import core
from supervisor.cli.__main__ import COMMANDS, SAYS
from supervisor.cli.output.event_lines import SHOWN
from supervisor.cli.output.words import COLOURS
from supervisor.config import model
from supervisor.config.environment import GATE_ARGUMENTS, STRICT_SERVERS
from supervisor.config.sections import knowledge, notify, patterns, resources
from supervisor.config.sections.base import Section
from supervisor.core import timers
from supervisor.core.decisions.adoption import TABLE as TAKING_OVER
from supervisor.core.limits import LIMITED
from supervisor.core.observing.read_only import READERS
from supervisor.core.states import TABLE as STEPS
from supervisor.protocol import events
from supervisor.protocol.commands import Launch
from supervisor.protocol.words import AgentState
from supervisor.rehearsal import check
from supervisor.rehearsal.expect import Expect
from supervisor.runtime.assembly.plugins import KINDS
from supervisor.runtime.incidents import notifications
from supervisor.runtime.processes.launcher import arguments
from tests.end_to_end.test_patterns import SCRIPTS
from tests.eval.inject import EPISODES


def listed(annotation: Any) -> set[str]:
    """The values that an annotation lists, enumerations and what may be nothing among them."""
    if typing.get_origin(annotation) is typing.Literal:
        return {str(value) for value in typing.get_args(annotation)}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {str(each.value) for each in annotation}
    return set().union(*map(listed, typing.get_args(annotation)))


def key(section: type[Any], name: str) -> set[str]:
    """What a key of the configuration may be."""
    return listed(section.model_fields[name].annotation)


def test_each_limit_of_a_task_is_watched_metered_tightened_and_configured() -> None:
    limits = {each.name for each in fields(Limits)}
    assert {each.limit for each in LIMITED} == limits
    assert {each.used for each in LIMITED} == set(ResourceUsage._fields)
    assert strict_limits(Limits(), ResourceUsage()).keys() == limits
    assert LEAST.keys() == limits - {"max_cost_usd"}, "half of what is left of a cost has its own least"
    assert limits <= resources.Resources.model_fields.keys()


def test_a_throttled_limit_is_refused_at_the_gate_whichever_it_is_but_for_memory_which_the_kernel_holds() -> None:
    used, tightened = ResourceUsage(9, 9.0, 9.0, 9, 9.0, 9), Limits(1, 1, 1, 1, 1.0, 1)
    guard = limit_guard.LimitGuard()
    for each in fields(Limits):
        only = Limits(**{other.name: None for other in fields(Limits)} | {each.name: getattr(tightened, each.name)})
        refused = guard.refuses("Write", LimitsInForce(only), used)
        assert bool(refused) is (each.name != "max_memory_mb"), each.name


@pytest.mark.parametrize("severity", Severity)
def test_each_severity_has_its_place_wherever_they_are_told_apart(severity: Severity) -> None:
    assert severity in notifications.PRIORITY
    assert severity in notifications.KINDS
    assert str(severity) in COLOURS
    assert str(severity) in key(notify.Channel, "min_severity") & key(patterns.CustomPatternSection, "severity")


@pytest.mark.parametrize("decision", Decision)
def test_each_decision_has_a_colour_and_one_that_a_rule_may_make_a_risk(decision: Decision) -> None:
    assert str(decision) in COLOURS
    assert (decision in RISKS_OF_DECISIONS) is (decision is not Decision.MODIFY)


@pytest.mark.parametrize("state", AgentState)
def test_each_state_is_in_the_tables(state: AgentState) -> None:
    assert state in STEPS
    assert state in TAKING_OVER


SECTIONS_OF_KNOWLEDGE: dict[type[Section], type[Any]] = {
    knowledge.KnownRule: Rule,
    knowledge.KnownProgram: Program,
    knowledge.KnownLauncher: LauncherLayout,
}


def test_words_of_the_configuration_are_those_of_the_parts_that_they_are_for() -> None:
    assert key(knowledge.KnownRule, "risk") == RISKS.keys()
    assert key(knowledge.KnownRule, "rewrite") == listed(Rewrite) - {""} == REWRITES.keys()
    assert key(knowledge.KnownRule, "undo") == listed(Undo) - {""}
    assert key(knowledge.KnownLauncher, "inside") == listed(Inside) - {""}
    for section, made in SECTIONS_OF_KNOWLEDGE.items():
        assert section.model_fields.keys() == {each.name for each in fields(made)}
    assert key(model.Approval, "mode") == {"off", "risky", "ask"}
    assert model.Approval.model_fields.keys() == {each.name for each in fields(ApprovalSettings)}
    assert {kind.name for kind in KINDS} == model.Plugins.model_fields.keys()


def test_each_pattern_can_be_configured_and_has_a_ladder_or_is_answered_by_the_usual_one() -> None:
    of_settings = {each.name for each in fields(DetectorSettings)}
    of_sections = patterns.PatternsSection.model_fields.keys()
    assert of_settings - of_sections == {"custom", "no_progress"} - of_sections
    made = {one.name for one in make_detectors(DetectorSettings(), Task("t", "p", "/"))}
    outside = {"combinations"} | {"refusals", "limit_reached", "critical_action", "gate_bypassed"}
    assert made ^ LADDERS.keys() == outside | COMBINED, "the names of detectors are those that ladders go by"
    assert {*EPISODES} == made - {"combinations"}, "a pattern without an episode is not measured"
    assert {*SCRIPTS} == {*EPISODES} | COMBINED, "a pattern without a script was never met by the real CLI"


def test_timers_are_all_stopped_with_their_agent() -> None:
    named = {value for name, value in vars(timers).items() if name.isupper() and isinstance(value, str)}
    assert {*timers.OF_A_SESSION, timers.APPROVAL} == named


@pytest.mark.parametrize("tool", sorted({*READERS, *STRICT_TOOLS, *CHANGING_TOOLS, *SHELL_TOOLS, *AGENT_TOOLS, *WEB_TOOLS, *ApprovalSettings().auto_approve}))  # fmt: skip
def test_tools_that_are_named_somewhere_are_known_to_the_reviewer(tool: str) -> None:
    assert is_known(tool)


def test_what_chaperon_says_to_the_cli_cannot_be_said_in_the_configuration() -> None:
    task = Task("t", "p", "/repo", model="opus", resume_session="s")
    ways = (
        Launch(task, "/repo", "s", 1, "", ""),
        Launch(task, "/repo", "s", 2, "s", "u"),
        Launch(task, "/repo", "s", 3, "s", ""),
    )
    said = {word.partition("=")[0] for way in ways for word in (*arguments(way), *GATE_ARGUMENTS) if word[:2] == "--"}
    harmless = {"--model", "--disallowedTools", STRICT_SERVERS}
    assert said - model.OWN_ARGUMENTS == harmless, "which a user may ask for too"


def test_each_kind_of_event_is_one_that_is_shown_or_known_not_to_be() -> None:
    kinds = {typing.get_args(typing.get_type_hints(each)["kind"])[0] for each in typing.get_args(events.AnyEvent)}
    assert SHOWN.keys() <= kinds


WRITTEN_ALONE = {
    "AgentForgotten", "CredentialTaken", "DaemonStarted", "DaemonStopped", "FaultSeen", "PolicyChanged", "RecordForgotten",
    "SettingsFound", "WorkTakenOver",
}  # fmt: skip
"""Events that change no state: people read them, and what replays a journal."""


def test_each_kind_of_event_is_folded_into_the_state_or_known_not_to_be() -> None:
    folds = [path for path in Path(core.__path__[0]).rglob("*.py") if not {"decisions", "replay"} & {*path.parts}]
    passed_on = {name for path in folds for name in re.findall(r"\w+", path.read_text())}
    assert {each.__name__ for each in typing.get_args(events.AnyEvent)} - passed_on == WRITTEN_ALONE


def test_each_expectation_of_a_scenario_is_looked_at() -> None:
    source = Path(check.__file__).read_text()
    for name in Expect.model_fields:
        assert f"expect.{name}" in source, name


def test_each_command_says_what_it_does() -> None:
    assert COMMANDS.keys() == SAYS.keys()
