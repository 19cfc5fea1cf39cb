"""The protection of records is what the configuration says."""

from pathlib import Path
from typing import Any

import pytest

from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.runtime.assembly.protection import make_protector
from supervisor.runtime.clock import Clock
from supervisor.runtime.protection.protector import Protector


def made(state: Path, environ: dict[str, str] | None = None, **audit: Any) -> Protector:
    config = Config.model_validate({"audit": audit, "agent": {"environment": {"SHOP_TOKEN": "sesam-oeffne-dich"}}})
    return make_protector(config, StatePaths(state, state / "run"), environ or {}, Clock())


def test_masked_is_the_default_with_the_values_of_secret_variables(tmp_path: Path) -> None:
    protector = made(tmp_path, {"CI_PASSWORD": "offen-gesagt-gut", "EDITOR": "vim-vim-vim-vim"})
    said = protector.text("anna@firma.de sesam-oeffne-dich offen-gesagt-gut vim-vim-vim-vim")
    assert [word.split(":")[0] for word in said.split()] == ["[mail", "[secret", "[secret", "vim-vim-vim-vim"]
    assert protector.new_seal() is not None


def test_full_leaves_all_as_it_is_and_writes_nothing(tmp_path: Path) -> None:
    protector = made(tmp_path, store="full")
    assert protector.text("anna@firma.de") == "anna@firma.de"
    assert protector.new_seal() is None
    assert [path for path in tmp_path.iterdir() if path.is_file()] == []


def test_full_still_gives_back_what_a_daemon_before_has_masked(tmp_path: Path) -> None:
    masked = made(tmp_path).report("i1", b'{"a":"anna@firma.de"}')
    assert made(tmp_path, store="full").whole_report("i1", masked) == b'{"a":"anna@firma.de"}'


def test_patterns_and_exceptions_of_ones_own_count(tmp_path: Path) -> None:
    protector = made(tmp_path, patterns={"customer": r"\bC-\d{7}\b"}, unmasked=["hello@firma.de"])
    assert protector.text("C-1234567 hello@firma.de").startswith("[customer:")
    assert protector.text("C-1234567 hello@firma.de").endswith("hello@firma.de")


def test_a_pattern_that_is_none_is_refused_with_the_configuration() -> None:
    with pytest.raises(ValueError, match="no regular expression"):
        Config.model_validate({"audit": {"patterns": {"customer": "("}}})
