"""A project that goes back while the disk of its files is really full: all of it is put back, and goes once there is room."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import json, os, subprocess, sys
from pathlib import Path
import anyio
from monitors.contract.errors import ChaperonError
from tests.stages.daemon import Base
from tests.supervisor.runtime.projects.test_rollback import REQUEST, all_of, project

async def play(root, disk):
    base = Base(root)
    base.repo = disk / "repo"
    subprocess.run(["git", "init", "--quiet", str(base.repo)], check=True)
    async with project(base) as daemon:
        roll_back = daemon.project_work.rollbacks.roll_back
        big = base.repo / "big.bin"
        big.write_text(os.urandom(1_000_000).hex())
        await daemon.projects.make(str(base.repo), "before", "ann")
        before = await all_of(base)
        big.unlink()
        (base.repo / "file.txt").write_text("changed")
        held = os.statvfs(disk)
        (disk / "fill").write_bytes(bytes(held.f_bavail * held.f_frsize - 600_000))
        after = await all_of(base)
        try:
            await roll_back(str(base.repo), REQUEST, "ann", "r1")
            how = "done"
        except ChaperonError as error:
            how = error.what
        same = await all_of(base) == after
        (disk / "fill").unlink()
        await roll_back(str(base.repo), REQUEST, "ann", "r2")
        return [how, same, await all_of(base) == before]

print(json.dumps(anyio.run(play, Path(sys.argv[1]), Path(sys.argv[2]))))
"""


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_all_of_it_is_put_back_and_with_room_it_goes(tmp_path: Path) -> None:
    unshare, mount = shutil.which("unshare"), shutil.which("mount")
    if not (unshare and mount):
        pytest.skip("needs unshare and mount")
    disk = tmp_path / "disk"
    disk.mkdir()
    script = 'mount -t tmpfs -o size=8m tmpfs "$2" || exit 77; exec "$3" -c "$4" "$1" "$2"'
    given = ["sh", "-c", script, "sh", str(tmp_path / "base"), str(disk), sys.executable, CHILD]
    own = [unshare, "--user", "--map-root-user", "--mount", *given]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    done = subprocess.run(own, capture_output=True, text=True, timeout=150, check=False, env=environ)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no mount namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    how, same, back = json.loads(done.stdout.splitlines()[-1])
    assert "No space left on device" in how
    assert "All of it was put back." in how
    assert (same, back) == (True, True)
