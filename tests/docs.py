"""Parts of the documentation that are drawn from the code: `python -m tests.docs --write` draws them, a test sees that they are current."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from supervisor.rehearsal.fleets.fleet_scenario import FleetScenario
from supervisor.rehearsal.scenario import Scenario
from tests import drawings
from tests.bench import figure_tables
from tests.reference import reference_markdown

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Section:
    """One drawn part of one file, between `<!-- NAME: … -->` and `<!-- /NAME -->`."""

    file: str
    name: str
    draw: Callable[[], str]


SECTIONS = (
    Section("docs/explanation/architecture.md", "map", drawings.map_of_the_code),
    Section("docs/explanation/architecture.md", "layers", drawings.layers_as_table),
    Section("docs/how-to/extend.md", "plugins", drawings.plugins_as_table),
    Section("docs/reference/states.md", "states", drawings.states_as_mermaid),
    Section("docs/reference/states.md", "task-states", drawings.task_states_as_mermaid),
    Section("docs/reference/commands.md", "commands", drawings.commands_as_table),
    Section("docs/reference/api.md", "socket", drawings.api_as_table),
    Section("docs/reference/metrics.md", "metrics", drawings.metrics_as_table),
    Section("README.md", "headlines", figure_tables.headlines),
    Section("docs/reference/figures.md", "figures", figure_tables.all_figures),
    Section("docs/reference/configuration.md", "keys", reference_markdown),
    Section("docs/reference/scenarios.md", "scenario", lambda: reference_markdown(Scenario)),
    Section("docs/reference/scenarios.md", "fleet", lambda: reference_markdown(FleetScenario)),
    Section("docs/reference/configuration.md", "effects", drawings.effects_as_table),
    Section("docs/reference/events.md", "adoption", drawings.taking_over_as_table),
    Section("docs/reference/events.md", "events", drawings.events_as_table),
)
"""All drawn parts."""


class MarkerError(Exception):
    """A file lacks the two markers of its drawn part, or has them more than once."""


def redrawn(text: str, section: Section) -> str:
    """The file's text with the part drawn anew; everything outside of its markers stays."""
    begin, end = f"<!-- {section.name}: ", f"<!-- /{section.name} -->"
    if (text.count(begin), text.count(end)) != (1, 1) or text.index(begin) > text.index(end):
        raise MarkerError(f"{section.file} needs one `{begin}… -->` and one `{end}` after it.")
    before, _, rest = text.partition(begin)
    comment, _, _ = rest.partition("-->")
    after = text[text.index(end) :]
    return f"{before}{begin}{comment}-->\n\n{section.draw().strip()}\n\n{after}"


def stale() -> dict[str, str]:
    """Each file whose drawn parts are not current, with the text that it should have."""
    found = {}
    for file in dict.fromkeys(section.file for section in SECTIONS):
        now = text = (ROOT / file).read_text()
        for section in SECTIONS:
            if section.file == file:
                text = redrawn(text, section)
        if text != now:
            found[file] = text
    return found


def main() -> int:
    """Write what is stale, or only name it; exit 1 where something was stale and not written."""
    files = stale()
    write = sys.argv[1:] == ["--write"]
    for file, text in files.items():
        if write:
            (ROOT / file).write_text(text)
        sys.stdout.write(f"{'drew' if write else 'stale'}: {file}\n")
    return 1 if files and not write else 0


if __name__ == "__main__":
    sys.exit(main())
