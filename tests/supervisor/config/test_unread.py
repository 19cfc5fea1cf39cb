"""What is set and does nothing is said."""

from pathlib import Path

from supervisor.config.load import load
from supervisor.config.model import Config
from supervisor.config.unread import UNREAD, unread


def test_what_nothing_reads_is_named_as_it_was_written_and_all_else_is_not(tmp_path: Path) -> None:
    file = tmp_path / "chaperon.yaml"
    file.write_text(
        "audit: {retain_days: 7, log_level: debug}\nhooks: {pre-start: a.sh}\nstop: {interrupt_seconds: 1}\n"
    )
    config = load({"HOME": str(tmp_path)}, file, system=tmp_path / "none").config
    assert unread(config) == ("hooks.pre-start", "audit.retain_days")
    assert unread(Config()) == ()


def test_only_keys_that_there_are_can_be_unread() -> None:
    for section, names in UNREAD.items():
        assert (names or frozenset()) <= set(type(getattr(Config(), section)).model_fields)


def test_nothing_outside_of_the_configuration_reads_them() -> None:
    root = Path(__file__).parents[3]
    sources = [
        path.read_text()
        for package in ("supervisor", "checkpoints", "monitors", "interventions")
        for path in (root / package).rglob("*.py")
        if root / "supervisor/config" not in path.parents
    ]
    assert not any(
        f"config.{word}" in text for text in sources for word in ("hooks", "audit.retain_days", "audit.export_format")
    )
