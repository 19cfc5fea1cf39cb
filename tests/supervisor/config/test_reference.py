from collections.abc import Iterator

import pytest
import yaml

from supervisor.config.base import Section
from supervisor.config.model import Config
from supervisor.config.problems import section_in
from supervisor.config.reference import reference_markdown
from tests.docs import ROOT


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


def test_a_row_says_type_limits_default_and_meaning() -> None:
    text = reference_markdown()
    assert "| `risk_threshold` | number, 0 or more, at most 1 | `0.7` | From this risk on" in text
    assert "| `mode` | whole number | `0600` |" in text
    assert "| `max_memory_mb` | whole number or nothing, 1 or more, at most 1,000,000,000 | `8192` |" in text
    assert "| `reason` | text | must be given |" in text
    assert '| `review_mode` | `blocking` or `async` | `"blocking"` |' in text


def test_the_example_above_the_list_is_a_valid_configuration() -> None:
    text = (ROOT / "supervisor/config/README.md").read_text()
    example = text.partition("```yaml\n")[2].partition("```")[0]
    assert Config.model_validate(yaml.safe_load(example)).rules[0].name == "own.no-terraform"
