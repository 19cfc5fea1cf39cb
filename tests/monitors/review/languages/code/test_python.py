"""Python by its syntax tree."""

import pytest

from monitors.review.languages.code.python import uses_of
from monitors.review.languages.code.uses import Uses


def uses(code: str) -> Uses:
    found = uses_of(code)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("code", "script"),
    [
        ("import os\nos.system('ls -l')", "ls -l"),
        ("import subprocess\nsubprocess.run(['rm', '-rf', 'a b'])", "'rm' '-rf' 'a b'"),
        ("import subprocess as s\ns.check_output('ls', shell=True)", "ls"),
        ("from os import system as x\nx('ls')", "ls"),
        ("__import__('os').system('ls')", "ls"),
        ("c = 'rm -rf ' + '/etc'\nimport os\nos.system(c)", "rm -rf /etc"),
        ("import os\nos.popen(f'ls {x}')", "ls $UNKNOWN"),
        ("import os\nos.execl('/bin/sh', 'sh')", "'/bin/sh'"),
        ("import subprocess\nargs = ['git', 'push']\nsubprocess.run(args)", "'git' 'push'"),
    ],
)
def test_what_it_runs_is_found(code: str, script: str) -> None:
    assert uses(code).scripts == [script]


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("import shutil\nshutil.rmtree('/a')", "/a/"),
        ("import os\nos.remove('/a')", "/a"),
        ("from pathlib import Path\nPath('/a').unlink()", "/a"),
        ("import os.path, shutil\nshutil.rmtree(os.path.join('/a', 'b'))", "/a/b/"),
        ("p = '/a'\nimport shutil\nshutil.rmtree(p)", "/a/"),
        ("import shutil\nshutil.rmtree(x)", "$UNKNOWN/"),
    ],
)
def test_what_it_deletes_is_found(code: str, path: str) -> None:
    assert uses(code).deletes == [path] or (path == "$UNKNOWN/" and uses(code).deletes)


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("open('/a', 'w')", "/a"),
        ("open('/a', mode='a')", "/a"),
        ("from pathlib import Path\nPath('/a').write_text('x')", "/a"),
        ("import shutil\nshutil.copy('/b', '/a')", "/a"),
    ],
)
def test_what_it_writes_is_found(code: str, path: str) -> None:
    assert uses(code).writes == [path]


@pytest.mark.parametrize(
    "code",
    [
        "print('rm -rf /')",
        "x = [1]\nx.remove(1)",
        "open('a').read()",
        "s = {1}; s.remove(1)",
        "import re\nre.sub('rm', '', 'x')",
        "def system(x): pass",
        "d = {}\nd.pop('x')",
    ],
)
def test_harmless_code_does_nothing(code: str) -> None:
    found = uses(code)
    assert (found.scripts, found.deletes, found.writes, found.hidden) == ([], [], [], "")


def test_code_that_decodes_and_runs_is_hidden() -> None:
    assert uses("import base64\nexec(base64.b64decode('eA=='))").hidden


@pytest.mark.parametrize("code", ["print 'x'", "((((", "\0", "x = " + "(" * 500, "\ud800"])
def test_what_is_no_python_3_is_left_to_others(code: str) -> None:
    assert uses_of(code) is None


@pytest.mark.parametrize(
    ("code", "scripts"),
    [
        ("import os\nos.system('rm %s' % '/a')", ["rm /a"]),
        ("import os\nos.system('rm {} {x}'.format('/a', x=1))", ["rm /a 1"]),
        ("import subprocess\nsubprocess.run(' '.join(['rm', '/a']), shell=True)", ["rm /a"]),
        ("import os\nfor d in ('/a', '/b'):\n    os.system(f'rm {d}')", ["rm /a", "rm /b"]),
        ("import os\ndef go(x, y='-r'):\n    os.system('rm ' + y + x)\ngo(' /a')", ["rm -r /a"]),
        ("f = getattr(__import__('os'), 'sys' + 'tem')\nf('ls')", ["ls"]),
        ("exec('import os; os.system(\"ls\")')", ["ls"]),
        ("import os\nos.system(''.join(map(chr, [108, 115])))", ["ls"]),
        ("import os, base64\nos.system(base64.b64decode('bHM=').decode())", ["ls"]),
        ("import os\n(lambda c: os.system(c))('sl'[::-1])", ["ls"]),
        ("import os\nclass A:\n    def go(self, c): os.system(c)\nA().go('ls')", ["ls"]),
        ("import os\nos.kill(os.getppid(), 9)", ["kill -9 $PPID"]),
        ("import os\n[os.kill(int(p), 9) for p in os.listdir('/proc')]", ["kill -9 -1"]),
        ("import psycopg2\npsycopg2.connect('').cursor().execute('DROP TABLE x')", ["psql -c 'DROP TABLE x'"]),
        ("import boto3\nboto3.client('s3').delete_bucket(Bucket='x')", ["aws sdk delete-bucket"]),
        ("from huggingface_hub import HfApi\nHfApi().delete_repo('a/b')", ["huggingface-cli repo delete-repo"]),
        ("import github\ngithub.Github('t').get_repo('a/b').delete()", ["gh repo delete-all"]),
        ("from huggingface_hub import HfApi\nHfApi().list_models()", []),
        ("import sqlite3\nsqlite3.connect('x').execute('DROP TABLE x')", []),
        ("import os\nos.kill(child.pid, 15)", []),
    ],
)
def test_constants_are_worked_out_to_what_is_run(code: str, scripts: list[str]) -> None:
    assert uses(code).scripts == scripts


@pytest.mark.parametrize(
    ("code", "deletes"),
    [
        ("import shutil\n[shutil.rmtree(p) for p in ['/a', '/b']]", ["/a/", "/b/"]),
        ("import shutil\nlist(map(shutil.rmtree, ['/a']))", ["/a/"]),
        ("from pathlib import Path\nimport shutil\nshutil.rmtree(Path.home() / 'x')", ["~/x/"]),
        ("import os\nfor r, d, f in os.walk('/a'):\n    os.remove(os.path.join(r, 'x'))", ["/a/{}/x"]),
        ("import tempfile, shutil\nd = tempfile.mkdtemp()\nshutil.rmtree(d)", ["/tmp/tempfile/"]),
        ("import shutil\ndef test(tmp_path):\n    shutil.rmtree(tmp_path)", ["/tmp/tempfile/"]),
        ("import shutil\ndef never_called(x):\n    shutil.rmtree(x)", []),
        ("import os, shutil\nshutil.rmtree(os.environ['HOME'] + '/x')", ["~/x/"]),
    ],
)
def test_constants_are_worked_out_to_what_is_deleted(code: str, deletes: list[str]) -> None:
    assert uses(code).deletes == deletes


def test_words_of_the_command_line_are_known_to_the_code() -> None:
    found = uses_of("import shutil, sys\nfor p in sys.argv[1:]: shutil.rmtree(p)", ["/a", None])
    assert found is not None
    assert found.deletes == ["/a/", "$UNKNOWN/"]


def test_a_path_that_is_joined_is_among_what_is_read() -> None:
    assert "~/.ssh/id_rsa" in uses("import os\nopen(os.path.join(os.path.expanduser('~'), '.ssh', 'id_rsa'))").reads


def test_the_text_of_a_file_that_is_written_is_known() -> None:
    found = uses("with open('a.sh', 'w') as f:\n    f.write('rm ')\n    f.write('/a')\n")
    assert (found.writes, found.files) == (["a.sh"], {"a.sh": "rm /a"})


@pytest.mark.parametrize(
    "code",
    [
        "def f(): f()\nf()",
        "def f(n):\n    f(n)\n    f(n)\nf(1)",
        "x = 'a'\n" + "x = x + x\n" * 200,
        "x = [1]\n" + "x = x + x\n" * 200,
        "for a in range(9999):\n    for b in range(9999):\n        for c in range(9999): print(a)",
        "exec('exec(' * 50 + ')' * 50)",
        "f = lambda: f()\nf()",
        "x = 9 " + "** 9" * 50,
        "x = 'a' * 10 ** 9",
        "x = " + "+".join(["'a'"] * 900),
    ],
)
def test_code_without_an_end_is_read_to_some_end(code: str) -> None:
    assert uses_of(code) is not None or code.startswith("x = ")


def test_a_function_is_not_gone_through_within_itself() -> None:
    calls = "\n".join(f"    f(x + {at})" for at in range(20))
    found = uses(f"import os\ndef f(x):\n{calls}\n    os.system('ls')\nf(1)\n")
    assert (found.scripts, found.cut) == (["ls"], "")


def test_code_of_more_steps_than_a_review_has_says_so() -> None:
    code = "def a(x):\n  pass\n" + "".join(
        f"def {name}(x):\n" + f"  {before}(x)\n" * 40 for before, name in zip("abc", "bcd", strict=True)
    )
    assert "steps" in uses(f"{code}d(1)\n").cut


def test_loops_in_loops_are_gone_through_in_bounded_steps() -> None:
    items = ", ".join(map(str, range(50)))
    loops = "".join(f"{'  ' * at}for {name} in [{items}]:\n" for at, name in enumerate("abc"))
    assert uses(f"import os\n{loops}{'  ' * 3}os.system('ls')\n").cut == ""


def test_what_stands_behind_the_items_that_are_looked_at_is_not_known() -> None:
    items = ", ".join(f"'a{at}'" for at in range(70))
    assert "$UNKNOWN" in uses(f"import os\nfor x in [{items}, '/etc']:\n  os.remove(x)\n").deletes
    assert "$UNKNOWN" in uses("import os\nxs = []\nxs.append('/etc')\nfor x in xs:\n  os.remove(x)\n").deletes
