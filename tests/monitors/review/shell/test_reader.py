"""The reader of Bash: held against tree-sitter-bash where that understands, and against text made to hurt."""

import pytest
import tree_sitter_bash
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from monitors.review.knowledge.book import LAUNCHERS
from monitors.review.shell.launch import LauncherBook
from monitors.review.shell.reader import read
from monitors.review.shell.walk import Walk
from monitors.review.shell.words import MAX_DEPTH, MAX_PIECES, decode_ansi

PARSER = Parser(Language(tree_sitter_bash.language()))

SCRIPTS = [
    "ls -la",
    "git status && git push origin main | tee log.txt",
    "for i in a b c; do rm $i; done",
    "while read line; do echo $line; done < file",
    "if test -f a; then cat a; elif test -f b; then cat b; else touch a; fi",
    "case $x in a|b) ls ;; *) pwd ;; esac",
    "f() { ls; }; f",
    "cat <<EOF\nhello $(date)\nEOF\nls",
    "cat <<'EOF' | grep x\nrm -rf /\nEOF",
    "(cd /tmp && ls) || pwd",
    "{ ls; pwd; } > out 2>&1",
    "a=1 b=2 env",
    "echo $(ls $(pwd)) `date`",
    "diff <(ls a) <(ls b)",
    "[[ -f a && -d b ]] && ls",
    "echo ${a:-$(hostname)}",
    "ls | sort | uniq -c | head",
    "sleep 1 & wait",
    "until ls; do sleep 1; done",
    "ls # and no rm",
    "! grep x y",
    'echo "a $(whoami) b"',
    "select x in a b; do uname; done",
    "ls 2>/dev/null >out <in",
    "a=(1 $(id) 3)",
    "function g { uptime; }",
    "ls;pwd\nid",
    "echo a\\\nb",
    "mapfile -t x < <(find .)",
]


def commands_by_tree_sitter(script: str) -> list[str]:
    """Names of all plainly named commands, wherever they stand."""
    tree = PARSER.parse(script.encode())
    assert not tree.root_node.has_error, script
    found: list[str] = []
    pending: list[Node] = [tree.root_node]
    while pending:
        node = pending.pop()
        if node.type == "command_name" and node.text is not None:
            found.append(node.text.decode())
        pending.extend(node.children)
    return sorted(found)


def commands_by_us(script: str) -> list[str]:
    walk = Walk(cwd="/w", variables={}, launchers=LauncherBook(LAUNCHERS), code=lambda _: [])
    walk.script(script)
    assert not walk.unclear
    return sorted(str(one.program) for one in walk.invocations if one.program and not one.via)


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_finds_the_commands_that_tree_sitter_finds(script: str) -> None:
    ours = [name for name in commands_by_us(script) if name not in ("f", "g")]
    theirs = [name for name in commands_by_tree_sitter(script) if name not in ("f", "g")]
    assert ours == theirs


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_it_reads_any_text(text: str) -> None:
    read(text)


SHELL = st.lists(
    st.sampled_from(["a", " ", "$(", ")", "`", '"', "'", "${", "}", "{", "(", ";", "|", "&", "<", ">", "<<E\n", "\n", "if ", "then ", "fi", "case x in ", ";;", "esac", "for i in ", "do ", "done", "[[ ", "]]", "\\", "$", "=", "a=(", "$'", "((", "))", "#", "E\n", "function ", "!", "*", "~", "coproc "]),
    max_size=60,
)  # fmt: skip


@pytest.mark.slow
@given(SHELL)
@settings(max_examples=600, deadline=None)
def test_it_reads_any_mixture_of_shell(pieces: list[str]) -> None:
    walk = Walk(cwd="/w", variables={}, launchers=LauncherBook(LAUNCHERS), code=lambda _: [])
    walk.script("".join(pieces))


@pytest.mark.parametrize(
    "text", ["x[" + "[" * 20_000, "x['" + "[" * 20_000, "(('" + "(" * 20_000, "$((`" + "(" * 20_000, "x[(" * 9_000]
)
def test_brackets_that_stand_within_each_other_are_read_however_many(text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    "text", ["$(" * 10_000 + "ls" + ")" * 10_000, "(" * 10_000, "{ " * 10_000, '"$(' * 10_000, '$(("' * 9_000]
)
def test_deep_nesting_is_said_to_be_too_much(text: str) -> None:
    assert str(MAX_DEPTH) in read(text).too_much


def test_a_long_list_is_said_to_be_too_much_and_its_beginning_is_read() -> None:
    script = read("rm -rf /; " + "a; " * (MAX_PIECES * 2))
    assert str(MAX_PIECES) in script.too_much
    assert len(script.nodes) > 100


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo 'a", "'"),
        ('echo "a', '"'),
        ("echo $(ls", ")"),
        ("ls | ", "|"),
        ("(ls", ")"),
        ("if ls; then pwd", "fi"),
        ("ls )", ")"),
        ("ls >", ">"),
    ],
)
def test_what_is_not_proper_shell_is_named(text: str, problem: str) -> None:
    assert problem in read(text).problem


def test_commands_behind_an_unclosed_quote_are_read_all_the_same() -> None:
    walk = Walk(cwd="/w", variables={}, launchers=LauncherBook(LAUNCHERS), code=lambda _: [])
    walk.script("echo 'x\nrm -rf /etc")
    assert "rm" in [one.name for one in walk.invocations]


@pytest.mark.parametrize(
    ("written", "meant"),
    [(r"\x72m", "rm"), (r"\162m", "rm"), (r"\u0072m", "rm"), (r"a\nb", "a\nb"), (r"\e", "\x1b"), (r"\'", "'")],
)
def test_ansi_escapes_are_decoded(written: str, meant: str) -> None:
    assert decode_ansi(written) == meant
