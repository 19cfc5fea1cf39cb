"""Programs as a person trusted them."""

from pathlib import Path

import orjson
import pytest

from supervisor.config.model import Config
from supervisor.runtime.assembly import trusted_programs
from supervisor.runtime.assembly.trusted_programs import GONE, ProgramChangedError, TrustedPrograms


def config(**about: object) -> Config:
    return Config.model_validate(about)


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    path = tmp_path / "on-error.sh"
    path.write_text("#!/bin/sh\n")
    return path


@pytest.fixture
def programs(tmp_path: Path) -> TrustedPrograms:
    return TrustedPrograms(tmp_path / "state" / "programs")


def again(programs: TrustedPrograms) -> TrustedPrograms:
    """As the next start has it."""
    return TrustedPrograms(programs._folder)


def test_the_first_start_trusts_what_is_there_and_the_next_one_what_was(programs: TrustedPrograms, hook: Path) -> None:
    given = config(hooks={"on-error": str(hook)}, agent={"launcher": ["nice"]})
    assert programs.settle(given) == (given, ())
    assert again(programs).settle(given) == (given, ())
    evil = config(hooks={"on-error": str(hook), "pre-start": "/evil"}, agent={"launcher": ["evil"]}, rules=[])
    settled, changed = again(programs).settle(evil)
    assert settled == given
    assert {(one.key, one.now, one.trusted) for one in changed} == {
        ("agent.launcher", '["evil"]', '["nice"]'),
        ("hooks.pre-start", "/evil", "none"),
        ("/evil", GONE, "not named"),
    }


def test_a_file_that_changed_is_run_by_its_copy_until_a_person_confirms_it(
    programs: TrustedPrograms, hook: Path
) -> None:
    given = config(hooks={"on-error": str(hook)})
    programs.settle(given)
    assert programs.program(str(hook)) == str(hook)
    hook.write_text("#!/bin/sh\necho evil\n")
    copy = Path(programs.program(str(hook)))
    assert (copy.name, copy.read_text()) == ("on-error.sh", "#!/bin/sh\n")
    assert [one.key for one in programs.changed(given)] == [str(hook)]
    assert [one.key for one in again(programs).settle(given)[1]] == [str(hook)]
    programs.accept(given)
    assert programs.program(str(hook)) == str(hook)
    assert programs.changed(given) == ()


def test_a_folder_in_place_of_a_program_is_a_program_that_is_gone(programs: TrustedPrograms, hook: Path) -> None:
    given = config(hooks={"on-error": str(hook)})
    programs.settle(given)
    hook.unlink()
    hook.mkdir()
    assert [(one.key, one.now) for one in again(programs).settle(given)[1]] == [(str(hook), GONE)]


def test_a_plugin_is_loaded_from_its_copy_and_a_credential_always_asked_by_one(
    programs: TrustedPrograms, tmp_path: Path
) -> None:
    plugin, asked = tmp_path / "own.py", tmp_path / "ask"
    plugin.write_text("x = 1\n")
    asked.write_text("#!/bin/sh\n")
    given = config(plugins={"detectors": [str(plugin)]}, agent={"credential": f"command:{asked}"})
    programs.settle(given)
    before = programs.running(given)
    assert before.plugins == given.plugins
    assert before.agent.credential != given.agent.credential
    plugin.write_text("x = 2\n")
    (copy,) = programs.running(given).plugins.detectors
    assert Path(copy).read_text() == "x = 1\n"


def test_without_a_copy_a_changed_program_is_not_run(
    programs: TrustedPrograms, hook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trusted_programs, "MOST_COPIED", 3)
    given = config(hooks={"on-error": str(hook)})
    programs.settle(given)
    hook.write_text("#!/bin/sh\necho evil\n")
    with pytest.raises(ProgramChangedError, match="is not what it was"):
        programs.program(str(hook))


def test_a_copy_that_somebody_changed_is_not_run(programs: TrustedPrograms, hook: Path) -> None:
    programs.settle(config(hooks={"on-error": str(hook)}))
    hook.write_text("evil\n")
    copy = Path(programs.program(str(hook)))
    copy.chmod(0o700)
    copy.write_text("evil\n")
    with pytest.raises(ProgramChangedError):
        programs.program(str(hook))


def test_a_list_that_is_damaged_starts_nothing(programs: TrustedPrograms, tmp_path: Path) -> None:
    programs.settle(config())
    path = tmp_path / "state" / "programs" / "programs.json"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"[]")
    with pytest.raises(ProgramChangedError, match="is damaged"):
        again(programs).settle(config())


def test_a_key_that_a_later_version_brings_is_no_change(programs: TrustedPrograms, tmp_path: Path) -> None:
    programs.settle(config())
    path = tmp_path / "state" / "programs" / "programs.json"
    kept = orjson.loads(path.read_bytes())
    del kept["values"]["agent.launcher"]
    path.write_bytes(orjson.dumps({**kept, "values": {**kept["values"], "gone.key": 3}}))
    assert again(programs).settle(config(agent={"launcher": ["nice"]}))[1] == ()


def test_what_looks_like_a_secret_is_not_shown(programs: TrustedPrograms) -> None:
    token = "sk-ant-api03-" + "a1B2" * 20
    given = config(verify={"command": f"check --token {token}"})
    assert token not in repr(programs.listed(given))


def test_commands_of_a_person_load_no_plugin_that_changed_and_any_before_a_first_start(
    programs: TrustedPrograms, tmp_path: Path
) -> None:
    plugin = tmp_path / "own.py"
    plugin.write_text("x = 1\n")
    given = config(plugins={"detectors": [str(plugin)]})
    programs.refuse_changed_plugins(given)
    assert not (tmp_path / "state").exists(), "to look writes nothing"
    programs.settle(given)
    again(programs).refuse_changed_plugins(given)
    again(programs).refuse_changed_plugins(config(plugins={"detectors": [str(plugin)]}, agent={"launcher": ["nice"]}))
    plugin.write_text("x = 2\n")
    with pytest.raises(ProgramChangedError, match="nothing of them was loaded"):
        again(programs).refuse_changed_plugins(given)
