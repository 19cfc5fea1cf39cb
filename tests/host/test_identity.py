import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from host import identity
from host.children import ChildCommand, run_child
from tests.stages.apart import OWN, PERSON, as_a_daemon_apart, enterable, needs_root


def fields(name: str) -> list[str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1:] for line in lines if line.startswith(f"{name}:"))


def started(users: dict[str, int]) -> list[int]:
    """The users and groups of a program that is started so."""
    command = [os.path.realpath("/usr/bin/cat"), "/proc/self/status"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, **users).stdout  # type: ignore[call-overload]
    found = {line.split()[0]: line.split()[1:4] for line in text.splitlines() if line.startswith(("Uid", "Gid"))}
    return [int(number) for name in ("Uid:", "Gid:") for number in found[name]]


@needs_root
def test_a_daemon_apart_has_its_own_user_for_signals_and_the_persons_for_files() -> None:
    def work() -> None:
        assert identity.is_apart()
        own, person = str(OWN.user), str(PERSON.user)
        assert fields("Uid") == [own, person, own, person]
        assert fields("Gid") == [own, person, own, own]
        assert os.getgroups() == [77_001, 77_003]
        assert {*fields("CapPrm"), *fields("CapEff"), *fields("CapAmb")} == {"0" * 16}

    as_a_daemon_apart(work)


@needs_root
def test_what_it_starts_is_the_person_in_full_unless_it_is_its_own() -> None:
    def work() -> None:
        own, person = OWN.user, PERSON.user
        assert started({**identity.as_person()}) == [person] * 6
        assert started({**identity.as_own()}) == [own, person, person, own, person, person]
        assert started({**identity.with_state()}) == [person] * 3 + [own] * 3
        usual = ChildCommand(argv=["id", "-ru"], environment={"PATH": os.defpath}, seconds=20, output_bytes=100)
        assert run_child(usual).output == b"%d\n" % person
        identity.become_person()
        assert fields("Uid") + fields("Gid") == [str(person)] * 8
        with pytest.raises(PermissionError):
            os.setresgid(-1, own, -1)

    as_a_daemon_apart(work)


@needs_root
def test_a_program_of_its_own_takes_back_what_running_it_took() -> None:
    def work() -> None:
        os.setresgid(-1, -1, PERSON.group)  # as execve(2) does
        os.setresuid(-1, -1, PERSON.user)
        identity.keep()
        assert (fields("Uid")[2], fields("Gid")[2:]) == (str(OWN.user), [str(OWN.group)] * 2)

    as_a_daemon_apart(work)


def close(folder: Path) -> None:
    """Make the folder of a state, into which chaperon's group alone may go."""
    with identity.own_files():
        folder.mkdir()
        folder.chmod(0o770)


@needs_root
def test_its_state_is_closed_to_what_it_starts_and_its_own_files_to_the_person(tmp_path: Path) -> None:
    enterable(tmp_path / "x")
    tmp_path.chmod(0o777)

    def work() -> None:
        close(tmp_path / "closed")
        (tmp_path / "closed/of the person").touch()
        made = (tmp_path / "closed/of the person").stat()
        assert (made.st_uid, made.st_gid) == (PERSON.user, OWN.group)
        for users, code in ((identity.as_person, 2), (identity.as_own, 2), (identity.with_state, 0)):
            listing = ChildCommand(
                argv=["ls", str(tmp_path / "closed")],
                environment={"PATH": os.defpath},
                seconds=20,
                output_bytes=999,
                users=users,
            )
            assert run_child(listing).code == code, users
        identity.become_person()
        with pytest.raises(PermissionError):
            (tmp_path / "closed").chmod(0o777)
        with pytest.raises(PermissionError):
            list((tmp_path / "closed").iterdir())

    as_a_daemon_apart(work)


@needs_root
def test_what_it_starts_does_not_stand_in_its_state(tmp_path: Path) -> None:
    enterable(tmp_path / "x")
    tmp_path.chmod(0o777)

    def work() -> None:
        close(tmp_path / "closed")
        (tmp_path / "closed/state/gateway").mkdir(mode=0o700, parents=True)
        (tmp_path / "closed/state/key").touch(mode=0o600)
        os.chdir(
            tmp_path / "closed/state/gateway"
        )  # as the gateway does, which runs the command that prints a credential
        usual = ChildCommand(
            argv=["ls", "../key"], environment={"PATH": os.defpath}, seconds=20, output_bytes=999, errors="nowhere"
        )
        assert run_child(usual).code == 2

    as_a_daemon_apart(work)


@needs_root
def test_what_has_the_state_leaves_no_core_to_the_person(tmp_path: Path) -> None:
    enterable(tmp_path / "x")
    tmp_path.chmod(0o777)

    def work() -> None:
        os.chdir(tmp_path)
        with subprocess.Popen(["sleep", "60"], **identity.with_state()) as child:  # type: ignore[call-overload]
            limits = Path(f"/proc/{child.pid}/limits").read_text().splitlines()
            os.kill(child.pid, signal.SIGABRT)  # which the person's programs may
        assert next(line.split()[4] for line in limits if line.startswith("Max core file size")) == "0"
        assert not list(tmp_path.glob("core*"))

    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        as_a_daemon_apart(work)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


@needs_root
def test_processes_of_the_person_are_looked_at_with_the_persons_group() -> None:
    def work() -> None:
        with subprocess.Popen(["sleep", "60"], **identity.as_person()) as child:  # type: ignore[call-overload]
            try:
                with pytest.raises(PermissionError) as refused:
                    Path(f"/proc/{child.pid}/environ").read_bytes()
                assert refused.value.errno == errno.EACCES
                with identity.looking():
                    assert Path(f"/proc/{child.pid}/environ").read_bytes()
                assert fields("Gid")[3] == str(OWN.group)
            finally:
                child.kill()

    as_a_daemon_apart(work)


@needs_root
def test_files_are_asked_for_as_the_person_sees_them(tmp_path: Path) -> None:
    enterable(tmp_path / "x")
    home = tmp_path / "of ada"
    home.mkdir(mode=0o700)
    (home / "tool").write_text("#!/bin/sh\n")
    (home / "tool").chmod(0o700)
    for path in (home, home / "tool"):
        os.chown(path, PERSON.user, PERSON.group)

    def work() -> None:
        assert not os.access(home / "tool", os.X_OK)
        assert identity.may(home / "tool", os.X_OK)
        assert identity.which("tool", f"/nowhere:relative:{home}") == str(home / "tool")
        assert identity.which("tool", "/usr/bin") is None

    as_a_daemon_apart(work)


@needs_root
@pytest.mark.parametrize(
    ("own", "person"),
    [
        (OWN, identity.Account(0, 0)),
        (identity.Account(0, 0), PERSON),
        (OWN, identity.Account(OWN.user, 5)),
        (OWN, identity.Account(PERSON.user, OWN.group)),
        (OWN, identity.Account(PERSON.user, PERSON.group, (OWN.group,))),
        (identity.Account(OWN.user, 0), PERSON),
    ],
)
def test_numbers_that_would_tear_the_wall_down_are_refused(own: identity.Account, person: identity.Account) -> None:
    before = os.getresuid()
    with pytest.raises(identity.IdentityError):
        identity.take(own, person)
    assert os.getresuid() == before


def test_in_a_process_of_one_user_nothing_is_done(tmp_path: Path) -> None:
    assert not identity.is_apart()
    assert identity.as_person() == identity.as_own() == identity.with_state() == {}
    before = os.getresuid(), os.getresgid()
    identity.keep()
    identity.become_person()
    with identity.own_files(), identity.looking():
        (tmp_path / "file").touch()
    assert (os.getresuid(), os.getresgid()) == before
    assert identity.which(Path(sys.executable).name, str(Path(sys.executable).parent)) == sys.executable
