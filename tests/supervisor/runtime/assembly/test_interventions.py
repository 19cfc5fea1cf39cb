"""Interventions, strategies and recoveries from a file: the example of the docs, and those that fail in each way."""

from pathlib import Path

import pytest

from interventions.decisions import Intervention
from interventions.recovery.after_end import AgentEnd, Follow, RecoveryPlan
from interventions.recovery.crash_context import LastAttempt
from interventions.settings import InterventionSettings, StrategySettings
from interventions.words import InterventionKind
from supervisor.config.model import Config, Plugins
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.assembly import interventions
from supervisor.runtime.assembly.interventions import Patience, PluginInterventions
from supervisor.runtime.assembly.plugins import PluginError
from supervisor.testing import check_answer, check_strategy
from supervisor.testing.samples import TASK, issue
from tests.interventions.runs import SOFT, Run
from tests.stages.daemon import Base, ended, served

EXAMPLE = "\n".join(
    line.removeprefix("    ")
    for line in (interventions.__doc__ or "").splitlines()
    if line.startswith("    ") or not line
)


@pytest.fixture
def example(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(EXAMPLE)
    return str(tmp_path / "own.py")


def brought(path: str, *kinds: str, patience: Patience | None = None) -> PluginInterventions:
    named = {kind: path if kind == "strategy" else (path,) for kind in kinds}
    return PluginInterventions(Config(plugins=Plugins.model_validate(named)), patience)


def first(run: Run) -> Intervention:
    """The answer to an issue that a run meets five minutes after the last."""
    chosen = run.answer(issue(details={"error": "boom"}), after=300.0)
    assert chosen is not None
    return chosen


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_the_example_of_the_docs_keeps_to_the_contract_and_is_asked_first(example: str) -> None:
    own = brought(example, "interventions", "strategy")
    (answer,), strategy = own.answers(TASK), own.strategy(TASK)
    assert strategy is not None
    check_answer(answer)
    check_strategy(strategy)
    run = Run(InterventionSettings(strategy=StrategySettings(type="custom")), plugins=(answer,), strategy=strategy)
    chosen = first(run)
    assert (chosen.kind, chosen.details["by"]) == (SOFT, "ask_for_the_log")
    assert "three words come before a stop" in chosen.reason


def test_the_example_of_a_recovery_knows_its_own_end_and_leaves_all_others(example: str) -> None:
    (recovery,) = brought(example, "recovery").recoveries
    ended = AgentEnd("p", "ssh: no route to host", True, 1, 1, LastAttempt(1, "exit code 1"))
    plan = recovery.after_end(ended)
    assert isinstance(plan, RecoveryPlan)
    assert (plan.follow, plan.wait_seconds) == (Follow.RESUME, 300)
    other = AgentEnd("p", "boom", True, 1, 1, LastAttempt(1, "exit code 1"))
    assert recovery.after_end(other) is None


ENDLESS = """
class Endless:
    name = "endless"
    kind = "soft_correction"
    types = ()
    def plan(self, case):
        while True:
            sum(range(1000))
    def ladder(self, issue): return self.plan(issue)
    def position(self, ladder, past): return self.plan(past)

make_intervention = make_strategy = Endless
"""


@pytest.mark.parametrize("kind", ["interventions", "strategy"])
def test_one_that_never_answers_is_ended_once_and_the_built_in_one_answers(tmp_path: Path, kind: str) -> None:
    own = brought(written(tmp_path / "own.py", ENDLESS), kind, patience=Patience(0.05, 5.0))
    strategy = StrategySettings(type="custom") if kind == "strategy" else StrategySettings()
    run = Run(
        InterventionSettings(strategy=strategy),
        plugins=own.answers(TASK),
        strategy=own.strategy(TASK),
    )
    chosen = first(run)
    assert chosen.kind is SOFT
    assert "took longer than" in chosen.details["plugins_failed"]["endless"]
    assert "plugins_failed" not in first(run).details, "it is not asked again in this run"
    other = Run(run.settings, plugins=own.answers(TASK), strategy=own.strategy(TASK))
    said = first(other).details["plugins_failed"]["endless"]
    assert "switched off until the daemon is restarted" in said, "nor waited for in another"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("make_intervention = 3", "defines no function"),
        ("class A:\n    name = 'a'\n    kind = 'shouting'\n    def plan(self, case): ...\n\nmake_intervention = A", "wrong kind"),
        ("def make_intervention(task):\n    raise OSError('no')", "raised OSError: no"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_keeps_the_daemon_from_starting(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PluginError, match=says):
        brought(written(tmp_path / "own.py", text), "interventions")


def test_one_that_cannot_be_made_for_a_task_alone_fails_when_it_is_asked(tmp_path: Path) -> None:
    text = "def make_intervention(task):\n    if task.prompt: raise OSError('not for this')\n    return A()\n\n"
    text += "class A:\n    name = 'a'\n    kind = 'soft_correction'\n    def plan(self, case): ...\n"
    own = brought(written(tmp_path / "own.py", text), "interventions")
    chosen = first(Run(plugins=own.answers(TASK)))
    assert chosen.kind is SOFT
    assert "not for this" in chosen.details["plugins_failed"]["own"]


SPEAKS_THEN_FAILS = """
class Rude:
    name = "rude"
    kind = "soft_correction"
    types = ()
    def plan(self, case):
        raise RuntimeError("I will not")

make_intervention = Rude
"""

ERRS = """
begin()
for n in range(4):
    use = f"toolu_{n}"
    call = {"type": "tool_use", "id": use, "name": "Bash", "input": {"command": "make"}}
    say({"type": "assistant", "message": {"id": f"m{n}", "role": "assistant", "content": [call], "usage": {}}})
    hook = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": use, "cwd": os.getcwd()}
    say({"type": "control_request", "request_id": f"r{n}", "request": {"subtype": "hook_callback", "callback_id": "PreToolUse", "input": hook}})
    while hear().get("type") != "control_response":
        pass
    result = {"type": "tool_result", "tool_use_id": use, "content": "make: no rule", "is_error": True}
    say({"type": "user", "message": {"role": "user", "content": [result]}})
done()
"""


async def test_in_a_daemon_a_plugin_that_raises_is_an_incident_and_the_agent_gets_its_answer(tmp_path: Path) -> None:
    path = written(tmp_path / "rude.py", SPEAKS_THEN_FAILS)
    base = Base(tmp_path / "base", {"plugins": {"interventions": [path]}})
    base.cli(ERRS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        assert (await ended(daemon)).state is not AgentState.LOST
    (chosen,) = base.events(events.InterventionChosen)
    assert chosen.intervention.kind is InterventionKind.SOFT_CORRECTION
    found = [incident for incident in base.incidents() if incident["type"] == "plugin_failed-rude"]
    assert [("I will not" in incident["summary"]) for incident in found] == [True]
