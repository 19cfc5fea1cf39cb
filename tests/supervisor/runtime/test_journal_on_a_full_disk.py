"""The journal and the incident log on a real file system that is really full."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHILD = """
import json, os, sys
from pathlib import Path
import anyio
from supervisor.protocol.events import TimerFired
from interventions.decisions import Incident
from monitors import Severity
from supervisor.runtime.incidents.log import IncidentLog
from supervisor.runtime.journal.journal import Journal, JournalState
from supervisor.runtime.journal.reader import read_records

from supervisor.runtime.protection.protector import Protector
from supervisor.runtime.protection.seals import RecordSeals

root = Path(sys.argv[1])
seals = RecordSeals([b"k" * 32], seals=sys.argv[2] == "encrypted")

def event(i):
    return TimerFired(agent="a", at=1.0, mono=1.0, name=str(i) + "x" * 5000)

def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65536))
        except OSError:
            pass
        try:
            while True:
                file.write(b"0")
        except OSError:
            pass

async def main():
    journal, _ = Journal.open(root / "journal", protector=Protector(seals=seals))
    log = IncidentLog.open(root, reserve=journal.reserve)
    await journal.synced(journal.append(event(1)))
    fill(root / "ballast")
    n = 1
    while journal.state is JournalState.OPEN and n < 5000:
        n = journal.append(event(n + 1))
        await journal.written(n)
    facts = {"state": str(journal.state), "accepting": journal.accepting, "n": n}
    incident = Incident(id="full", at=1.0, agent="", type="disk_full", severity=Severity.HIGH, summary="The disk is full.")
    facts["incident"] = log.record(incident, {"why": "x" * 1000})
    os.unlink(root / "ballast")
    await journal.room()
    facts["state_after"] = str(journal.state)
    await journal.synced(journal.append(event(n + 1)))
    journal.close()
    facts["found"] = [record.n for record in read_records(root / "journal", opened=seals.opened)] == list(range(1, n + 2))
    facts["lines"] = (root / "incidents.jsonl").read_text().count("disk_full")
    facts["report"] = (root / "incidents" / "full.json").exists()
    print(json.dumps(facts))

anyio.run(main)
"""


def run_on_a_small_disk(mount_point: Path, kept: str) -> dict[str, Any]:
    """Run the child in a mount namespace of its own, on a file system of 8 MiB; skip where the kernel forbids that."""
    unshare, mount = shutil.which("unshare"), shutil.which("mount")
    if not (unshare and mount):
        pytest.skip("needs unshare and mount")
    script = 'mount -t tmpfs -o size=8m tmpfs "$1" || exit 77; exec "$2" -c "$3" "$1" "$4"'
    done = subprocess.run(
        [
            unshare,
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
            str(mount_point),
            sys.executable,
            CHILD,
            kept,
        ],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no mount namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


@pytest.mark.parametrize("kept", ["in the clear", "encrypted"])
def test_a_disk_that_runs_full_is_an_incident_and_no_crash(tmp_path: Path, kept: str) -> None:
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    facts = run_on_a_small_disk(mount_point, kept)
    assert facts.pop("n") > 1
    assert facts == {
        "state": "full",
        "accepting": False,
        "incident": True,
        "state_after": "open",
        "found": True,
        "lines": 1,
        "report": True,
    }
