import json

import pytest

from supervisor.runtime import doctor
from supervisor.runtime.doctor import DoctorFinding
from tests.stages.daemon import Base
from tests.supervisor.cli.conftest import command


@pytest.mark.real_cli
def test_what_works_is_told_for_people_and_as_data(base: Base) -> None:
    shown = command("doctor", "--json")
    found = json.loads(shown.output)
    assert found
    told = command("doctor")
    assert told.exit_code == shown.exit_code
    assert len(told.output.splitlines()) >= 3


@pytest.mark.real_cli
def test_a_wrong_configuration_is_found(base: Base) -> None:
    (base.root / "wrong.yaml").write_text("revewer: {}\n")
    shown = command("--config", str(base.root / "wrong.yaml"), "doctor")
    assert shown.exit_code == 1
    assert "revewer" in shown.output


def test_a_finding_is_a_line_with_its_remedy_below_it(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        DoctorFinding("one", True, "fine"),
        DoctorFinding("two", None, "less\nmuch"),
        DoctorFinding("three", False, "broken", "Mend it."),
    ]
    monkeypatch.setattr(doctor, "examined", lambda _: iter(found))
    assert command("doctor").output == (
        "ok  one           fine\n--  two           less\n                  much\n"
        "NO  three         broken\n                  -> Mend it.\n"
    )
