"""Ordinary work of many kinds in bubblewrap's profile `project`, each command as a shell of an agent is started.

The home directory is the person's own, since tools lie there. What a machine has not is skipped.
"""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.config.sections.sandbox import SandboxSection
from supervisor.runtime.sandbox.sandboxes import SHELL_PREFIX, LaunchSite, Sandboxes
from tests.sources import ROOT
from tests.stages.walled import needs

pytestmark = [pytest.mark.slow, needs("bubblewrap")]

PYTHON = Path(sys.base_prefix, "bin/python3")
"""An interpreter with pip; that of the system may have none."""

SECONDS = 100
"""The longest that a command may take: a build of nothing takes seconds on a busy machine."""

C_PROGRAM = "int twice(int x) { return 2 * x; }\nint main(void) { return twice(0); }\n"

SERVES = """
import http.server, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def test_it_serves():
    assert urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").status == 200
def test_a_socket_of_its_own(tmp_path, monkeypatch):
    import socket
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
"""

BACKEND = """
import zipfile
def build_wheel(folder, *_, **__):
    with zipfile.ZipFile(f"{folder}/it-1-py3-none-any.whl", "w") as wheel:
        wheel.write("it.py")
        wheel.writestr("it-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: it\\nVersion: 1\\n")
        wheel.writestr("it-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("it-1.dist-info/RECORD", "")
    return "it-1-py3-none-any.whl"
"""
"""A build of a package by itself: machines differ in what they have for that."""

DRIVE = """
import http.server, shutil, threading
from playwright.sync_api import sync_playwright
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=shutil.which("chromium"), chromium_sandbox=False)
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/page.html")
    page.click("button")
    page.screenshot(path="seen.png")
    print(page.inner_text("button"))
    browser.close()
"""

SERVICES = f"""
set -eu
trap 'kill $(jobs -p) 2> /dev/null' EXIT
mkdir -p store
{PYTHON} -c '
import socket, sqlite3
listening = socket.socket(socket.AF_UNIX); listening.bind("store/s"); listening.listen()
while True:
    asking, _ = listening.accept()
    with sqlite3.connect("store/db") as kept:
        asking.sendall(str(kept.execute("select 40 + 2").fetchone()[0]).encode())
    asking.close()
' &
{PYTHON} -c '
import http.server, socket
class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect("store/s"); said = asked.recv(9)
        self.send_response(200); self.end_headers(); self.wfile.write(said)
    def log_message(self, *_): pass
web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
open("store/port.new", "w").write(str(web.server_port))
import os; os.rename("store/port.new", "store/port")
web.serve_forever()
' &
until test -S store/s && test -f store/port; do sleep 0.05; done
test "$(curl --silent --fail --noproxy '*' "http://127.0.0.1:$(cat store/port)/")" = 42
"""
"""A store and a server beside it, each begun, waited for, asked and ended, as a compose file describes them."""

FILES = {
    "page.html": (
        "<p></p><button>no</button><script>document.querySelector('p').append('six times seven is ' + 6 * 7);"
        "document.querySelector('button').onclick = e => e.target.textContent = 'clicked 1'</script>"
    ),
    "drive.py": DRIVE,
    "services.sh": SERVICES,
    "a.c": C_PROGRAM,
    "Makefile": "a: a.c\n\tcc -g -o a a.c\n",
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(a C)\nadd_executable(b a.c)\n",
    "dependency/package.json": '{"name": "dependency", "version": "1.0.0", "main": "it.js"}',
    "dependency/it.js": "module.exports = 7;\n",
    "package.json": '{"name": "it", "version": "1.0.0", "scripts": {"test": "node -e \\"process.exit(require(\'dependency\') - 7)\\""}}',
    "crate/Cargo.toml": '[package]\nname = "it"\nversion = "0.1.0"\nedition = "2021"\n',
    "crate/src/lib.rs": "#[test]\nfn it() { assert_eq!(2 + 2, 4); }\n",
    "module/go.mod": "module it\n",
    "module/it_test.go": 'package it\nimport "testing"\nfunc TestIt(t *testing.T) {}\n',
    "package/pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n',
    "package/own.py": BACKEND,
    "package/it.py": "seven = 7\n",
    "test_it.py": SERVES,
    "It.java": "class It { public static void main(String[] a) { System.out.println(7); } }\n",
}

WORK = {
    "make": ("make a && ./a", ("make", "cc")),
    "cmake": ("cmake -S . -B out > log && cmake --build out > log && ./out/b", ("cmake", "cc")),
    "npm": ("npm install --offline --no-audit --no-fund ./dependency && npm test", ("npm",)),
    "cargo": ("cd crate && cargo test --offline", ("cargo",)),
    "go": ("cd module && go test ./...", ("go",)),
    "pip": (
        (f"{PYTHON} -m pip install --quiet --no-index --no-deps --no-build-isolation --target installed ./package"
        f" && PYTHONPATH=installed {PYTHON} -c 'import it; assert it.seven == 7'"),
        (str(PYTHON),),
    ),
    "venv": (f"{PYTHON} -m venv --without-pip own && own/bin/python -c 'import ssl, sqlite3, ctypes'", (str(PYTHON),)),
    "pytest with servers and sockets": (f"{sys.executable} -m pytest -q -p no:cacheprovider test_it.py", ("python3",)),
    "git": (
        ("git switch --quiet -c work && git add -A && git commit --quiet -m work && git push --quiet ../remote.git work"
        " && git stash list && git worktree add --quiet ../workspace/tree HEAD~0 && git log -1 --format=%s | grep work"),
        ("git",),
    ),
    "gdb": ("cc -g -o g a.c && gdb -batch -ex 'break twice' -ex run -ex backtrace ./g 2>&1 | grep 'twice (x=0)'", ("gdb", "cc")),
    "strace": ("strace -f -o traced true && grep -q exit_group traced", ("strace",)),
    "java": ("javac It.java && java It | grep 7", ("javac", "java")),
    "a server of node": (
        ("node -e 'const h = require(`http`); const s = h.createServer((q, a) => a.end(`7`)); s.listen(0, `127.0.0.1`, () =>"
        " h.get({port: s.address().port, host: `127.0.0.1`}, a => process.exit(a.statusCode - 200)))'"),
        ("node",),
    ),
    "a browser": (
        ('chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/page.html" 2> log | grep "six times seven is 42"'),
        ("chromium",),
    ),
    "playwright": (f"{sys.executable} drive.py | grep 'clicked 1'", ("chromium",)),
    "services without docker": ("bash services.sh", ("bash", "curl")),
    "processes in the background": ("sleep 100 & wait_for=$!; kill $wait_for; wait $wait_for; test $? = 143", ("bash",)),
    "shell and text": ("printf 'b\\na\\n' | sort | tee sorted | head -1 | grep a && diff <(cat sorted) sorted", ("bash",)),
}  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    for name, text in FILES.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", "-b", "main", workspace], check=True)
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "remote.git"], check=True)
    for name, value in (("user.name", "T"), ("user.email", "t@example.org")):
        subprocess.run(["git", "-C", workspace, "config", name, value], check=True)
    return workspace


@pytest.mark.parametrize("kind", WORK)
def test_ordinary_work_passes_in_the_profile_project(repository: Path, kind: str) -> None:
    command, needed = WORK[kind]
    if lacking := [name for name in needed if shutil.which(name) is None]:
        pytest.skip(f"this machine has no {', '.join(lacking)}")
    base = repository.parent
    section = SandboxSection(read=(str(ROOT),), write=(str(base / "remote.git"),))
    home = pwd.getpwuid(os.getuid()).pw_dir
    environment = {"HOME": home, **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}}
    made = Sandboxes("bubblewrap", section, Path(home), [base / "state"], os.environ)
    launch = made.wrap(LaunchSite("/bin/bash", repository, repository, base / "own", environment))
    words = [*launch.words, launch.settings[SHELL_PREFIX]] if launch.settings else [*launch.words, "/bin/bash", "-c"]
    done = subprocess.run(
        [*words, command], env=dict(launch.environment), cwd=repository, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
