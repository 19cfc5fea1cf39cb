"""Python by its syntax tree."""

import pytest

from monitors.review.languages.python import uses_of
from monitors.review.languages.uses import Uses


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
