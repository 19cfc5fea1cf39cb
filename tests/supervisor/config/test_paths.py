import os
import pwd
from pathlib import Path

import pytest

from supervisor.config.paths import (
    PlaceError,
    StatePaths,
    config_home,
    home,
    hosts,
    make_private,
    places,
    prepare,
    sockets_to_try,
)

UID = os.getuid()


def test_the_service_managers_directories_come_first() -> None:
    where = places({"STATE_DIRECTORY": "/s:/t", "RUNTIME_DIRECTORY": "/r", "XDG_RUNTIME_DIR": "/x", "HOME": "/h"}, 7)
    assert where == StatePaths(Path("/s"), Path("/r"))
    assert where.socket == Path("/r/chaperon.sock")


def test_then_come_the_directories_of_the_session() -> None:
    where = places({"XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/x", "HOME": "/h"}, 7)
    assert where == StatePaths(Path("/s/chaperon"), Path("/x/chaperon"))


def test_then_the_home_directory_and_a_checked_one_below_tmp() -> None:
    assert places({"HOME": "/h"}, 7) == StatePaths(
        Path("/h/.local/state/chaperon"), Path("/tmp/chaperon-7"), shared_tmp=True
    )


def test_a_relative_variable_counts_as_unset() -> None:
    environ = {
        "HOME": "/h",
        "XDG_STATE_HOME": "s",
        "XDG_CONFIG_HOME": "c",
        "XDG_RUNTIME_DIR": "r",
        "STATE_DIRECTORY": "",
    }
    assert places(environ, 7) == places({"HOME": "/h"}, 7)
    assert config_home(environ) == Path("/h/.config")


@pytest.mark.parametrize("given", ["h", "./h", "~"])
def test_a_relative_home_is_refused_since_it_would_be_another_in_each_directory(given: str) -> None:
    with pytest.raises(PlaceError, match=f"HOME is '{given}', which is no absolute path") as refused:
        places({"HOME": given}, 7)
    assert refused.value.way_out == "Set HOME to an absolute path."


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}])
def test_without_a_home_it_is_that_of_the_user_database(environ: dict[str, str]) -> None:
    assert home(environ) == Path(pwd.getpwuid(os.geteuid()).pw_dir)


def test_the_command_line_finds_the_system_service_of_its_user_too() -> None:
    found = sockets_to_try({"XDG_RUNTIME_DIR": "/x"}, 7, "ada")
    assert found == (Path("/x/chaperon/chaperon.sock"), Path("/run/chaperon/ada/chaperon.sock"))


def test_both_directories_are_made_for_the_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    where = StatePaths(tmp_path / "a/b/state", tmp_path / "run")
    before = os.umask(0o777)
    try:
        os.umask(0o377)
        (tmp_path / "a").mkdir(mode=0o700)
        (tmp_path / "a").chmod(0o700)
        (tmp_path / "a/b").mkdir()
        (tmp_path / "a/b").chmod(0o700)
        prepare(where, UID)
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o7777 for path in (where.state, where.runtime)] == [0o700, 0o700]
    prepare(where, UID)


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match=rf"belongs to user {UID}, and this is user {UID + 1}\. Mend that, or set X "):
        make_private(tmp_path, UID + 1, "X")


def test_a_directory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    with pytest.raises(PlaceError, match="mode 0775 lets others write"):
        make_private(tmp_path, UID, "X")


def test_below_tmp_even_reading_by_others_and_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d").chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "d")
    make_private(tmp_path / "link", UID, "X")
    for name, says in (("d", "lets others look"), ("link", "no directory")):
        with pytest.raises(PlaceError, match=says):
            make_private(tmp_path / name, UID, "X", strict=True)


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlaceError, match="is no directory"):
        make_private(tmp_path / "file", UID, "X")
    with pytest.raises(PlaceError, match=r"cannot be used: Not a directory at '.*file/below'"):
        make_private(tmp_path / "file" / "below", UID, "X")


def test_where_nothing_can_be_written_the_error_says_so() -> None:
    with pytest.raises(PlaceError, match=r"'/proc/chaperon' cannot be made: .*set XDG_STATE_HOME"):
        make_private(Path("/proc/chaperon"), UID, "XDG_STATE_HOME")


def test_a_socket_path_that_no_socket_can_have_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    where = StatePaths(tmp_path / "state", tmp_path / ("x" * 100))
    with pytest.raises(PlaceError, match="longer than the 107 bytes"):
        prepare(where, UID)
    assert not where.state.exists()


def test_a_socket_is_trusted_in_a_folder_of_ones_own_and_where_nothing_is(tmp_path: Path) -> None:
    uid = os.getuid()
    assert hosts(tmp_path / "none/s", uid) == {uid, 0}
    (tmp_path / "own").mkdir(mode=0o700)
    assert hosts(tmp_path / "own/s", uid) == {uid, 0}


def test_a_socket_is_not_trusted_in_a_folder_that_others_can_write(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own").chmod(0o777)
    with pytest.raises(PlaceError, match="lets others write into it"):
        hosts(tmp_path / "own/s", os.getuid())


def test_below_a_directory_of_all_users_another_users_folder_or_a_link_is_not_trusted(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "theirs").mkdir(mode=0o700)
    stranger = os.getuid() + 1 if os.getuid() else 4242
    os.chown(tmp_path / "theirs", stranger, -1) if os.getuid() == 0 else None
    with pytest.raises(PlaceError, match=r"cannot be trusted: it belongs to user .* Nothing was sent"):
        hosts(tmp_path / "theirs/s", os.getuid() if os.getuid() == 0 else stranger)
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    with pytest.raises(PlaceError, match="it is no directory"):
        hosts(tmp_path / "link/s", os.getuid())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_that_was_made_for_another_user_is_that_users(tmp_path: Path) -> None:
    """A socket of mode 0660 lets a group steer another user's agents; its folder is made by root, as of a service."""
    (tmp_path / "ada").mkdir(mode=0o750)
    os.chown(tmp_path / "ada", 4242, 0)
    assert hosts(tmp_path / "ada/s", 0) == {0, 4242}


@pytest.mark.parametrize("variable", ["STATE_DIRECTORY", "RUNTIME_DIRECTORY"])
def test_a_place_that_cannot_be_used_is_said_with_the_variable_that_put_it_there(tmp_path: Path, variable: str) -> None:
    environ = {"STATE_DIRECTORY": str(tmp_path / "state"), "RUNTIME_DIRECTORY": str(tmp_path / "run")}
    Path(environ[variable]).write_text("in the way")
    with pytest.raises(PlaceError, match=f"set {variable} to a directory of your own"):
        prepare(places(environ, UID), UID)
