"""What looking finds."""

import pytest

from interventions.contract import NothingSurveyed
from interventions.texts.known_errors import ErrorKind, KnownError
from interventions.texts.remedies import remedy


class Known(NothingSurveyed):
    """A workspace of which something is known."""

    def similar_paths(self, path: str) -> tuple[str, ...]:
        return ("src/main.py", "lib/main.py") if path == "src/mian.py" else ()

    def moved_to(self, path: str) -> str:
        return "lib/main.py" if path == "src/mian.py" else ""

    def owner_and_mode(self, path: str) -> str:
        return f"root:root -rw------- for {path}"

    def installed(self, module: str) -> str:
        return "PyYAML 6.0" if module == "yaml" else ""


@pytest.mark.parametrize(
    ("kind", "subject", "says"),
    [
        (
            ErrorKind.FILE_NOT_FOUND,
            "src/mian.py",
            "moved to lib/main.py. These exist and are named alike: src/main.py.",
        ),
        (ErrorKind.FILE_NOT_FOUND, "else.py", "Look which files are there"),
        (ErrorKind.FILE_NOT_FOUND, "", "Look which files are there"),
        (ErrorKind.PERMISSION_DENIED, "/etc/x", "Its owner and mode: root:root -rw------- for /etc/x"),
        (ErrorKind.IMPORT_ERROR, "yaml", "Installed is PyYAML 6.0"),
        (ErrorKind.IMPORT_ERROR, "yml", "Nothing of that name is installed"),
    ],
)
def test_the_remedy_says_what_was_found(kind: ErrorKind, subject: str, says: str) -> None:
    made = remedy(KnownError(kind, subject), Known())
    assert made is not None
    assert says in made.says


@pytest.mark.parametrize("kind", [ErrorKind.USAGE_LIMIT, ErrorKind.OVERLOADED, ErrorKind.TIMED_OUT])
def test_waiting_is_not_the_agents_business(kind: ErrorKind) -> None:
    assert remedy(KnownError(kind), Known()) is None


@pytest.mark.parametrize("kind", [ErrorKind.FILE_NOT_FOUND, ErrorKind.PERMISSION_DENIED, ErrorKind.IMPORT_ERROR])
def test_where_nobody_looked_nothing_is_claimed_to_be_found(kind: ErrorKind) -> None:
    made = remedy(KnownError(kind, "x"), NothingSurveyed())
    assert made is not None
    assert not made.found
