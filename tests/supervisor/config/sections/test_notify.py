import pytest
from pydantic import ValidationError

from supervisor.config.sections.notify import Channel, Notify

MAIL = {"name": "mail", "url": "mailto://somebody@example.org"}


def test_channels_of_one_name_are_refused_with_the_name() -> None:
    with pytest.raises(ValidationError, match="2 channels are named 'mail'"):
        Notify.model_validate({"channels": [MAIL, MAIL]})


def test_an_address_names_its_service_and_is_never_shown() -> None:
    assert "somebody" not in repr(Channel.model_validate(MAIL))
    with pytest.raises(ValidationError, match="this is no address"):
        Channel.model_validate({**MAIL, "url": "somebody@example.org"})
