"""What tests of checkpoints say often."""

import subprocess
from pathlib import Path

import pytest

from checkpoints.model import CaptureContext, Reason
from checkpoints.store.store import Store
from supervisor.runtime.protection.seals import RecordSeals

SEALS = RecordSeals([b"k" * 32], seals=True)
"""Encrypt a store."""

BOTH = pytest.mark.parametrize("seals", ["open", "sealed"], indirect=True)
"""Runs a test on a store as it is by default, and on one that is encrypted."""

MOMENT = CaptureContext(Reason.TURN, at=1_700_000_000.0, agent="a3")


def git(folder: Path, *words: str) -> str:
    """Run git as a person would, and return what it printed."""
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout


def packs_of(store: Store) -> set[Path]:
    """Return the files of all packs, sealed or not."""
    return {*store.packs.glob("pack-*.pack"), *store.packs.glob("pack-*.sealed")}


def shape(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Return everything in a folder but `.git`, byte for byte, with what kind of thing it is."""
    found: dict[str, tuple[str, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if ".git" in relative.parts:
            continue
        if path.is_symlink():
            found[str(relative)] = ("link", str(path.readlink()).encode("utf-8", "surrogateescape"))
        elif path.is_dir():
            found[str(relative)] = ("folder", b"")
        elif path.is_file():
            kind = "program" if path.stat().st_mode & 0o100 else "file"
            found[str(relative)] = (kind, path.read_bytes())
        else:
            found[str(relative)] = ("special", b"")
    return found
