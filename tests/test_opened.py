import shutil
import subprocess
from pathlib import Path

from tests.opened import OpenWatch


def test_a_program_that_any_process_runs_was_opened(tmp_path: Path) -> None:
    program = tmp_path / "true"
    shutil.copy2("/bin/true", program)
    watch = OpenWatch(program)
    try:
        program.stat()
        assert not watch.take()
        subprocess.run(["/bin/sh", "-c", str(program)], check=True)
        assert watch.take()
        assert not watch.take()
    finally:
        watch.close()
