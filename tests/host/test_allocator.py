"""Threads share the C library's areas of memory."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

COUNTS = """
import ctypes, sys, threading
from pathlib import Path
from host.allocator import share_arenas
if sys.argv[1] == "share":
    share_arenas()
all_there = threading.Barrier(9)
def work():
    kept = [bytes(100_000) for _ in range(10)]  # too long for Python's own areas
    all_there.wait()
    all_there.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
all_there.wait()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = libc.fopen(b"told.xml", b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
all_there.wait()
print(Path("told.xml").read_text().count("<heap "))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has no such areas")
@pytest.mark.parametrize(("word", "most"), [("share", 2), ("each", 9)])
def test_threads_share_two_areas_instead_of_having_each_its_own(tmp_path: Path, word: str, most: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNTS, word],
        cwd=tmp_path, env={"PYTHONPATH": str(Path.cwd())}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert int(done.stdout) <= most
    assert (int(done.stdout) > 2) == (word == "each")
