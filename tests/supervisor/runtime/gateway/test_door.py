import subprocess
import sys
from pathlib import Path

from supervisor.runtime.gateway.door import token_of


def test_the_token_of_a_folder_is_one_whoever_asks_first(tmp_path: Path) -> None:
    assert len(token_of(tmp_path / "gateway")) == 64
    assert token_of(tmp_path / "gateway") == token_of(tmp_path / "gateway")
    assert [path.name for path in (tmp_path / "gateway").iterdir()] == ["token"]
    assert (tmp_path / "gateway/token").stat().st_mode & 0o777 == 0o600


def test_a_daemon_has_of_the_gateway_nothing_that_only_its_process_needs() -> None:
    process = {"program", "exchange", "upstream", "agent_site", "hosts"}
    code = "import sys, supervisor.runtime.service; print(*(name for name in sys.modules if '.gateway.' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stdout.split()}
    assert "client" in loaded
    assert loaded & process == set()
