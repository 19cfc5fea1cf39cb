import pytest
from pydantic import ValidationError

from supervisor.config.sections.hooks import HooksSection


def test_a_script_is_known_by_the_key_that_names_it() -> None:
    hooks = HooksSection.model_validate({"pre-start": "/opt/before", "on-error": "/opt/wrong"})
    assert hooks.programs() == {"pre-start": "/opt/before", "on-error": "/opt/wrong"}


@pytest.mark.parametrize(
    ("key", "value", "says"), [("pre-start", "x.sh", "no absolute path"), ("timeout", 0, "greater than 0")]
)
def test_a_script_that_cannot_be_run_and_a_time_that_there_is_not_are_refused(
    key: str, value: object, says: str
) -> None:
    with pytest.raises(ValidationError, match=says):
        HooksSection.model_validate({key: value})
