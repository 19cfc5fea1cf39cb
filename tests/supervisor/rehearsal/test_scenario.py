from pathlib import Path

import pytest

from monitors.contract.errors import NotFoundError
from supervisor.rehearsal import scenario as scenarios
from supervisor.rehearsal.scenario import Scenario, ScenarioError, ScenarioPaths
from supervisor.rehearsal.script import ApiError, BrokenStream, ModelScript, Say, ScriptStep, ScriptTokens, ToolUse

SMALL = """\
name: small
task: {prompt: do it}
steps:
  - say: Looking.
    use: {tool: Bash, input: {command: ls}}
  - name: both
    use:
      - {tool: Read, input: {file_path: a}}
      - {tool: Read, input: {file_path: b}}
"""


def refusal(text: str) -> str:
    with pytest.raises(ScenarioError) as refused:
        scenarios.read(text, "s.yaml")
    return str(refused.value)


def test_steps_become_what_the_model_plays() -> None:
    scenario = scenarios.read(
        """
name: all
task: {prompt: do it}
steps:
  - say: [one, two]
    use: {tool: Bash, input: {command: ls}}
    fail: [529, broken, {status: 429, retry_after: 0.5, times: 2}]
    wait: 1
    wait_between: 0.1
    tokens: {input: 5}
"""
    )
    limited = ApiError(429, retry_after_seconds=0.5)
    assert scenario.scripts() == (
        ModelScript(
            (
                ScriptStep(
                    blocks=(Say("one"), Say("two"), ToolUse("Bash", {"command": "ls"})),
                    failures=(ApiError(529), BrokenStream(), limited, limited),
                    first_byte_seconds=1,
                    chunk_seconds=0.1,
                    tokens=ScriptTokens(input=5),
                ),
            )
        ),
    )


def test_each_call_is_found_by_its_id() -> None:
    subagent = "subagents:\n  - when: count the files\n    steps: [{use: {tool: Bash, input: {command: ls}}}]\n"
    assert scenarios.read(SMALL + subagent).calls() == {
        "toolu_0001": ("1", 1),
        "toolu_0002": ("both", 1),
        "toolu_0003": ("both", 2),
        "toolu_1_0001": ("1.1", 1),
    }


def test_placeholders_are_filled_in_and_other_braces_stay() -> None:
    text = SMALL + "expect: {files: [{path: '{home}/x', contains: '{other} {state}'}]}\n"
    text = text.replace("command: ls", "command: 'cd {workspace}; echo ${HOME} {a,b}'")
    placed = scenarios.read(text).place(ScenarioPaths("/w", "/h", "/s"))
    assert placed.steps[0].use[0].input["command"] == "cd /w; echo ${HOME} {a,b}"
    assert placed.expect.files[0].path == "/h/x"
    assert placed.expect.files[0].contains == ("{other} /s",)
    assert placed.expect.model_fields_set == {"files"}


def test_a_wrong_key_is_refused_with_its_line_and_the_nearest_right_one() -> None:
    text = refusal(SMALL.replace("    use: {tool: Bash", "    uses: {tool: Bash"))
    assert "s.yaml:5:5: unknown key 'uses' in steps[0]; did you mean 'use'?" in text


def test_a_wrong_key_in_a_call_that_is_written_without_a_list_has_its_own_place() -> None:
    assert "s.yaml:5:11: unknown key 'tol'" in refusal(SMALL.replace("{tool: Bash", "{tol: Bash"))


@pytest.mark.parametrize(
    ("expect", "says"),
    [
        ("{decisions: [{step: boht, decision: allow}]}", "10:29: there is no step 'boht'; did you mean 'both'?"),
        ("{told: [{at: zzz, contains: x}]}", "there is no step 'zzz'; the steps are: 1, both"),
        ("{last_step: zzz}", "there is no step 'zzz'"),
        ("{decisions: [{step: both, call: 3, decision: allow}]}", "step 'both' has no call 3"),
        ("{decisions: [{step: both, decision: alow}]}", "did you mean 'allow'?"),
        ("{state: finished}", "expected one of"),
        ("{exit: zero}", "expected a whole number"),
    ],
)
def test_an_expectation_that_cannot_be_met_or_read_is_refused(expect: str, says: str) -> None:
    assert says in refusal(f"{SMALL}expect: {expect}\n")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("interjections: [{at: zzz, say: hello}]", "there is no step 'zzz'"),
        ("interjections: [{at: both, say: hello, stop: now}]", "say one of `say`"),
        ("interjections: [{at: both, call: 1, say: hello}]", "`call` goes with `approve` and `deny` alone"),
        ("repository: {files: [{path: ../x}]}", "'../x' must be relative and stay inside"),
        ("home: [{path: /etc/passwd}]", "10:15: home[0].path: '/etc/passwd' must be relative"),
        ("subagents: [{when: x, steps: [{name: both}]}]", "10:31: two steps are named 'both'"),
    ],
)
def test_what_contradicts_itself_is_refused(more: str, says: str) -> None:
    assert says in refusal(f"{SMALL}{more}\n")


def test_what_is_wrong_with_the_policy_is_told_with_all_else_and_with_its_place() -> None:
    text = (
        f"{SMALL}policy:\n  reviewer:\n    risk_treshold: 0.5\n  approval: {{mode: asks}}\nexpect: {{last_step: zzz}}\n"
    )
    said = refusal(text).splitlines()
    places = [line.strip().split(": ")[0] for line in said if line.startswith("  ")]
    assert len(places) == 3
    assert "policy: unknown key 'risk_treshold' in reviewer; did you mean 'risk_threshold'?" in "".join(said)
    assert "policy: approval.mode: expected one of" in "".join(said)
    with_more = refusal(text.replace("{last_step: zzz}", "{state: finished}"))
    assert "risk_treshold" in with_more
    assert "expect.state" in with_more


def test_placeholders_and_relative_paths_stand_in_a_policy_too() -> None:
    policy = "policy: {protected_paths: ['{workspace}/x'], hooks: {on-pause: hook.sh}}\n"
    made = scenarios.read(SMALL + policy, directory="/where")
    config = scenarios.policy_of(made, scenarios.ScenarioPaths("/w", "/h", "/s"), "/where")
    assert config.protected_paths == ("/w/x",)
    assert config.hooks.on_pause == "/where/hook.sh"


def test_a_scenario_is_found_by_its_name_or_path_and_one_that_is_not_names_those_that_are(tmp_path: Path) -> None:
    assert scenarios.find("demo").name == "demo.yaml"
    (tmp_path / "own.yaml").write_text(SMALL)
    assert scenarios.find(str(tmp_path / "own.yaml")) == tmp_path / "own.yaml"
    with pytest.raises(NotFoundError, match="There is no scenario 'dmo'") as caught:
        scenarios.find("dmo")
    assert caught.value.way_out.startswith("Did you mean 'demo'? These come with it: asked, bad-days, demo")


@pytest.mark.parametrize("written", ["approve: yes", "deny: on", "approve: true"])
def test_an_answer_needs_no_note(written: str) -> None:
    (interjection,) = scenarios.read(f"{SMALL}interjections: [{{at: both, {written}}}]\n").interjections
    assert (interjection.approve if "approve" in written else interjection.deny) == ""


def test_a_decision_about_a_step_without_a_call_is_refused() -> None:
    text = "name: n\ntask: {prompt: p}\nsteps: [{name: talk, say: hi}]\nexpect: {decisions: [{step: talk, decision: allow}]}\n"
    assert "step 'talk' has no tool call" in refusal(text)


@pytest.mark.parametrize("fail", ["{status: 529, stream: broken}", "{message: x}", "200", "crooked", "yes"])
def test_a_failure_that_is_none_is_refused(fail: str) -> None:
    assert "s.yaml:3:" in refusal(f"name: n\ntask: {{prompt: p}}\nsteps: [{{say: hi, fail: {fail}}}]\n")


@pytest.mark.parametrize("text", ["", "[]", "a: [", "just text", "name: n\nname: m\n"])
def test_what_is_no_scenario_is_refused_with_a_place(text: str) -> None:
    assert "s.yaml:" in refusal(text)


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"missing\.yaml:1:1: it cannot be read"):
        scenarios.load(tmp_path / "missing.yaml")
    with pytest.raises(scenarios.ScenarioError, match="holds more than 1048576 bytes"):
        scenarios.load(Path("/dev/zero"))


@pytest.mark.parametrize("name", ["demo", "bad-days", "steered"])
def test_the_scenarios_that_are_shipped_are_right_and_expect_something(name: str) -> None:
    scenario = scenarios.load(scenarios.shipped()[name])
    assert scenario.name == name
    assert scenario.description
    assert scenario.expect.decisions
    assert isinstance(scenario.place(ScenarioPaths("/w", "/h", "/s")), Scenario)
