"""A machine of its own for units: the real systemd as process 1 of namespaces, with a root of its own and a user `ada`.

It shares the machine's programs, its network and its kernel. Only the units that are given are there, with what they
need: services of the distribution would set variables of the kernel, which are the machine's.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from supervisor.runtime.processes.bounds.cgroups import own_group
from tests.sources import ROOT

USER = 77_001
"""Number of `ada`, whom the machine itself does not know."""

OWN_USER = 77_002
"""That of `chaperon-ada`, as which the daemon of `chaperon-apart@ada` keeps apart."""

SYSTEMD = Path("/usr/lib/systemd/systemd")

SECONDS = 40.0

BOOT = """
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$PLACE"
cd "$PLACE"
mkdir -p usr etc/systemd/system proc sys dev run tmp var/lib home/ada old
mount --rbind /usr usr
for each in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$each" ]; then cp -P "/$each" .; elif [ -d "/$each" ]; then mkdir "$each"; mount --rbind "/$each" "$each"; fi
done
for each in $SHOWN; do mkdir -p ".$each"; mount --rbind "$each" ".$each"; done
cp -a /etc/ld.so.cache /etc/ssl /etc/alternatives etc/ 2>/dev/null || true
echo 'root:x:0:0::/root:/bin/sh
ada:x:77001:77001::/home/ada:/bin/sh
chaperon-ada:x:77002:77002::/:/bin/false' > etc/passwd
echo 'root:x:0:
ada:x:77001:
chaperon-ada:x:77002:' > etc/group
echo 0123456789abcdef0123456789abcdef > etc/machine-id
chown 77001:77001 home/ada
cp "$UNITS"/* etc/systemd/system/
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs dev
for each in null zero full random urandom tty; do touch dev/$each; mount --bind /dev/$each dev/$each; done
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
chmod 1777 dev/shm tmp
pivot_root . old
umount -l old
exec env -i container=chaperon-test SYSTEMD_UNIT_PATH=/etc/systemd/system PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
    "$SYSTEMD" --system --log-target=console --show-status=0
"""

TARGETS = {
    **{f"{name}.target": "[Unit]\n" for name in ("sysinit", "basic", "multi-user", "sockets", "network", "shutdown")},
    "default.target": "[Unit]\nRequires=basic.target\nAfter=basic.target\n",
}


@dataclass(frozen=True, slots=True)
class Booted:
    """A machine that runs."""

    first: int
    """Its process 1, by its number outside."""

    def run(self, *words: str, user: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a program there to its end."""
        enter = ["nsenter", f"--target={self.first}", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--wd=/"]
        home = "/home/ada" if user else "/root"
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        path = f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
        return subprocess.run(
            [*enter, "env", "-i", f"PATH={path}", f"HOME={home}", *become, *words],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    def ada(self, script: str) -> str:
        """Run a script of the shell as ada; return what it printed.

        Raises:
            AssertionError: It failed.
        """
        done = self.run("sh", "-ec", script, user=USER)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def unit(self, name: str, *properties: str) -> list[str]:
        """Return properties of a unit."""
        said = dict(line.partition("=")[::2] for line in self.run("systemctl", "show", name).stdout.splitlines())
        return [said.get(each, "") for each in properties]

    def wait(self, script: str) -> None:
        """Wait until a script of the shell, run as ada, succeeds."""
        give_up = time.perf_counter() + SECONDS
        while (done := self.run("sh", "-ec", script, user=USER)).returncode:
            assert time.perf_counter() < give_up, (script, done.stdout, done.stderr)


def _shown() -> list[str]:
    """Folders of the machine that chaperon and its interpreter need, each once."""
    wanted = {Path(each).resolve() for each in (ROOT, sys.prefix, sys.base_prefix)}
    return [str(each) for each in wanted if not any(each != other and each.is_relative_to(other) for other in wanted)]


@contextmanager
def booted(folder: Path, units: Mapping[str, str]) -> Iterator[Booted]:
    """A machine with these units, none of which is started; it is gone at the end, with all its processes."""
    mount = own_group(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    if os.geteuid() != 0 or not SYSTEMD.is_file() or mount is None:
        pytest.skip("booting systemd takes root, systemd and a hierarchy of cgroup v2")
    if ROOT.is_relative_to("/tmp"):
        pytest.skip("the units have a /tmp of their own, in which this clone is not")
    place, given = folder / "root", folder / "units"
    place.mkdir()
    given.mkdir()
    for name, text in {**TARGETS, **units}.items():
        (given / name).write_text(text)
    group = mount / f"chaperon-booted-{os.getpid()}"
    group.mkdir()
    environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PLACE": str(place), "UNITS": str(given)}
    environ |= {"SYSTEMD": str(SYSTEMD), "SHOWN": " ".join(_shown())}
    into = 'echo 0 > "$1/cgroup.procs"; shift; exec "$@"'
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--cgroup"]
    log = (folder / "log").open("wb")
    starter = subprocess.Popen(
        ["sh", "-ec", into, "sh", str(group), *apart, "sh", "-c", BOOT],
        env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        yield _up(starter, folder / "log")
    finally:
        starter.send_signal(signal.SIGKILL)  # the kernel ends its child then, and so the whole namespace
        starter.wait(SECONDS)
        log.close()
        _remove(group)
        shutil.rmtree(folder)


def _up(starter: "subprocess.Popen[bytes]", log: Path) -> Booted:
    """Wait until systemd runs."""
    children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children")
    give_up = time.perf_counter() + SECONDS
    while True:
        if starter.poll() is not None:
            pytest.skip(f"systemd cannot be booted on this machine: {log.read_text().strip()[-500:]}")
        assert time.perf_counter() < give_up, log.read_text()
        first = children.read_text().split()
        if first and Path(f"/proc/{first[0]}/comm").read_text() == "systemd\n":
            machine = Booted(int(first[0]))
            if machine.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"):
                return machine


def _remove(group: Path) -> None:
    """Remove a control group with those in it, once their last processes are gone."""
    give_up = time.perf_counter() + SECONDS
    while "populated 1" in (group / "cgroup.events").read_text():
        assert time.perf_counter() < give_up, group
    for path, _, _ in os.walk(group, topdown=False):
        Path(path).rmdir()
