"""What a person does in a rehearsal; `scenarios/asked.yaml` has the answers to actions that wait."""

from pathlib import Path

import pytest

from supervisor.rehearsal import scenario as scenarios
from supervisor.rehearsal.run import rehearse
from tests.supervisor.rehearsal.test_run import base

__all__ = ["base"]

pytestmark = pytest.mark.real_cli

GOES_BACK = """
name: back
task: {prompt: Change it.}
repository: {files: [{path: a.txt, content: "first\\n"}]}
steps:
  - {name: change, use: {tool: Bash, input: {command: "sleep 1; echo second > a.txt"}}}
  - {name: wait, use: {tool: Bash, input: {command: "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; done"}}}
  - {name: end, say: Done.}
interjections:
  - {at: change, checkpoint: good}
  - {at: wait, rollback: {checkpoint: good, files_only: yes}}
  - {at: end, rollback: nosuch}
expect:
  files: [{path: a.txt, content: "first\\n"}]
"""


async def test_a_person_of_a_scenario_makes_a_checkpoint_and_goes_back_to_it_and_what_cannot_be_is_a_note(
    base: Path, real_claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IS_SANDBOX", "1")
    _, findings = await rehearse(scenarios.read(GOES_BACK), base, cli=str(real_claude))
    (note,) = findings
    assert (note.place, note.fails) == ("interjections[2]", False)
    assert "nosuch" in note.says
