from pathlib import Path

import pytest

from supervisor.rehearsal.fleets.fleet_scenario import is_fleet, load_fleet, read_fleet, shipped_fleets
from supervisor.rehearsal.scenario import ScenarioError, shipped

SMALL = """
name: small
repositories: [{name: shop}]
tasks:
  - {name: one, repository: shop, prompt: First., steps: [{name: look, say: hello}]}
acts:
  - {name: kill, after: {step: one/look}, kill_daemon: yes}
expect:
  tasks: {one: done}
  repositories: {shop: {files: {}, commits: {}}}
"""


@pytest.mark.parametrize("name", sorted(shipped_fleets()))
def test_a_fleet_that_is_shipped_can_be_read_and_is_told_from_scenarios_of_one_agent(name: str) -> None:
    assert load_fleet(shipped_fleets()[name]).name == name
    assert is_fleet(shipped_fleets()[name])
    assert not any(is_fleet(path) for path in shipped().values())
    assert name not in shipped()


def test_the_fleet_that_is_shipped_has_all_that_can_befall_one() -> None:
    fleet = load_fleet(shipped_fleets()["fleet"])
    assert (len(fleet.tasks), len(fleet.repositories)) == (12, 2)
    redirect = {"redirect", "put back by the redirect"}
    wanted = {"conflict", "false claim", "crash", *redirect, "limit", "rollback", "killed daemon"}
    assert set(fleet.expect.stories) == wanted
    assert fleet.policy["tasks"]["slots"] == fleet.expect.at_once == 3


def test_steps_are_named_by_their_task_and_the_mention_of_one_is_checked() -> None:
    assert read_fleet(SMALL).steps() == {"one/look": (0, 0)}
    assert read_fleet(SMALL.replace("name: look, ", "").replace("one/look", "one/1")).steps() == {"one/1": (0, 0)}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("one/look", "one/lok", "there is no 'one/lok' among the steps; did you mean 'one/look'"),
        ("repository: shop", "repository: shops", "there is no 'shops' among the repositories"),
        ("tasks: {one:", "tasks: {two:", "there is no 'two' among the tasks"),
        ("{step: one/look}", "{step: one/look, act: kill}", "say one of `task`, `step`, `act` and `event`"),
        ("{step: one/look}", "{task: one}", "`task` and `state` go together"),
        ("kill_daemon: yes", "kill_daemon: no", "say one of `run`, `kill_cli` and `kill_daemon`"),
        ("acts:", "policy: {revewer: {}}\nacts:", "did you mean 'reviewer'"),
        ("commits: {}", "commits: {}, color: red", "color"),
        ("name: shop", "name: ../shop", "name"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(before: str, after: str, says: str) -> None:
    assert before in SMALL
    with pytest.raises(ScenarioError) as caught:
        read_fleet(SMALL.replace(before, after), "small.yaml")
    assert says in str(caught.value)
    assert "small.yaml:" in str(caught.value)


def test_the_example_of_the_reference_can_be_read() -> None:
    page = Path(__file__).parents[4] / "docs/reference/scenarios.md"
    fleet = read_fleet(page.read_text().partition("## A fleet")[2].partition("```yaml\n")[2].partition("```")[0])
    assert (fleet.name, fleet.acts[0].kill_daemon) == ("two", True)


def test_two_of_one_name_are_refused() -> None:
    doubled = SMALL.replace("acts:\n", "acts:\n  - {name: kill, run: task list}\n")
    with pytest.raises(ScenarioError, match="two of these are named 'kill'"):
        read_fleet(doubled)


def test_a_file_that_cannot_be_read_is_refused_and_is_no_fleet(tmp_path: Path) -> None:
    (tmp_path / "torn.yaml").write_bytes(b"\xff\xfe")
    assert not is_fleet(tmp_path / "torn.yaml")
    assert not is_fleet(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match="it cannot be read"):
        load_fleet(tmp_path / "torn.yaml")


def test_a_file_without_end_is_no_fleet_and_is_refused() -> None:
    """It is read before it is known of what it is."""
    assert not is_fleet(Path("/dev/zero"))
    with pytest.raises(ScenarioError, match="holds more than 1048576 bytes"):
        load_fleet(Path("/dev/zero"))
