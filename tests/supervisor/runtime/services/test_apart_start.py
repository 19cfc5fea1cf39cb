"""That a daemon starts so, and what it is then: `tests/systemd/test_apart.py`."""

import os
import pwd

import pytest

from supervisor.runtime.services.apart_start import KeptApartError, keep_apart


def test_a_person_without_a_user_of_chaperon_beside_is_told_how_to_have_one() -> None:
    environ = {"PATH": "/usr/bin"}
    with pytest.raises(KeptApartError, match="There is no user 'nobody-at-all'"):
        keep_apart("nobody-at-all", environ)
    name = pwd.getpwuid(os.geteuid()).pw_name
    with pytest.raises(KeptApartError, match=f"There is no user 'chaperon-{name}'"):
        keep_apart(name, environ)
    assert environ == {"PATH": "/usr/bin"}
