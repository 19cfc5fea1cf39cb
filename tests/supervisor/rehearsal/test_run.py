"""The shipped scenarios, rehearsed whole: the real CLI, the scripted model, and the daemon as it always is."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitors.contract.errors import UsageError
from supervisor.rehearsal import scenario as scenarios
from supervisor.rehearsal.run import rehearse

ROOT = Path(__file__).parents[3]


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory below this repository: in /tmp the reviewer takes every file for one to be thrown away."""
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".rehearsal-") as directory:
        yield Path(directory) / "base"


@pytest.mark.real_cli
@pytest.mark.parametrize("name", sorted(scenarios.shipped()))
async def test_a_shipped_scenario_comes_out_as_it_expects(
    base: Path, real_claude: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("IS_SANDBOX", "1")
    scenario = scenarios.load(scenarios.shipped()[name])
    _, findings = await rehearse(scenario, base, cli=str(real_claude))
    assert findings == []


@pytest.mark.real_cli
async def test_the_example_of_the_reference_comes_out_as_it_expects(
    base: Path, real_claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IS_SANDBOX", "1")
    text = (ROOT / "docs/reference/scenarios.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    _, findings = await rehearse(scenarios.read(text), base, cli=str(real_claude))
    assert findings == []


async def test_a_wrong_policy_is_refused_before_anything_starts(base: Path) -> None:
    scenario = scenarios.read("name: n\ntask: {prompt: p}\n").model_copy(update={"policy": {"reviwer": {}}})
    with pytest.raises(UsageError, match=r"nothing was started: .*did you mean 'reviewer'"):
        await rehearse(scenario, base)
    assert not base.exists()
