from collections.abc import Iterator

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from supervisor.config.model import Config
from supervisor.config.problems import section_in
from supervisor.config.sections.base import Section
from supervisor.config.yaml_tree import parse
from supervisor.rehearsal.scenario import Scenario
from supervisor.runtime.assembly.review_settings import review_settings
from tests.docs import ROOT
from tests.reference import reference_markdown


def sections(section: type[Section] = Config) -> Iterator[type[Section]]:
    yield section
    for field in section.model_fields.values():
        if below := section_in(field.annotation):
            yield from sections(below)


@pytest.mark.parametrize("section", list(sections()))
def test_every_key_is_listed(section: type[Section]) -> None:
    text = reference_markdown()
    for name, field in section.model_fields.items():
        key = field.alias or name
        assert f"| `{key}` |" in text or f".{key}`" in text or f"### `{key}" in text


@pytest.mark.parametrize("section", list(sections(Scenario)))
def test_every_key_of_a_scenario_is_listed_with_its_meaning(section: type[Section]) -> None:
    text = reference_markdown(Scenario)
    for name in section.model_fields:
        assert f"| `{name}` |" in text or f".{name}`" in text or f"### `{name}" in text


def test_what_a_daemon_reads_at_its_start_alone_is_said_at_its_section() -> None:
    parts = dict(part.split("`", 1) for part in reference_markdown().split("### `")[1:])
    assert "\nA change of it waits for the daemon's next start.\n" in parts["notify.channels[]"]
    assert "A change of `judge`" not in parts["patterns"], "it is a section"
    assert "A change of it waits for" in parts["patterns.judge"]
    assert "A change of `command`, `arguments`, " in parts["agent"]
    assert "next start" not in parts["reviewer"]


def test_a_row_says_type_limits_default_and_meaning() -> None:
    text = reference_markdown()
    assert "| `risk_threshold` | number, 0 or more, at most 1 | `0.7` | From this risk on" in text
    assert "| `mode` | whole number | `0600` |" in text
    assert "| `max_memory_mb` | whole number or nothing, 1 or more, at most 1,000,000,000 | `8192` |" in text
    assert "| `reason` | text | must be given |" in text
    assert '| `review_mode` | `blocking` or `async` | `"blocking"` |' in text


def example() -> Config:
    text = (ROOT / "docs/reference/configuration.md").read_text()
    return Config.model_validate(parse(text.partition("```yaml\n")[2].partition("```")[0]).value)


@pytest.mark.parametrize(
    "command",
    ["terraform apply", "env X=1 terraform apply", "terraform -chdir=infra apply", "sudo -E terraform destroy", "bash -c 'terraform apply'", "./terraform apply"],
)  # fmt: skip
def test_the_example_above_the_list_is_a_configuration_whose_rule_is_not_passed_by(command: str) -> None:
    reviewer = make_reviewer(review_settings(example()))
    review = reviewer.review(Action("Bash", {"command": command}, "/repo", "/repo"), ReviewContext())
    assert (review.decision, review.rule) == (Decision.BLOCK, "own.people-apply")
    assert "Write down what should be applied instead." in review.reasoning
