import os
import subprocess
import sys
from pathlib import Path

import pytest

LOADS = """
import os
before = dict(os.environ)
from checkpoints.git.library import load_libgit2
load_libgit2()
assert dict(os.environ) == before, os.environ
import pygit2
print(pygit2.settings.ssl_cert_file, pygit2.init_repository("made", bare=True).is_bare)
"""


@pytest.mark.parametrize("places", [{}, {"SSL_CERT_FILE": "/no/such", "SSL_CERT_DIR": "/no/such"}])
def test_libgit2_is_loaded_without_certificates_also_where_there_are_none(
    tmp_path: Path, places: dict[str, str]
) -> None:
    environ = {**os.environ, "PYTHONPATH": str(Path.cwd()), **places}
    done = subprocess.run([sys.executable, "-c", LOADS], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("None True\n", "")
