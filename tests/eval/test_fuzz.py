"""The reader against bash: a few thousand of the cases that `python -m tests.eval.fuzz` makes a million of."""

from itertools import islice

import pytest

from tests.eval.fuzz import known_gap, run_by_bash, scripts, seen, unseen

CASES = 2_000
"""Scripts of one seed: some ten seconds, most of them bash's."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11])
def test_bash_runs_no_command_that_the_reviewer_does_not_see(seed: int) -> None:
    assert list(unseen(islice(scripts(seed), CASES))) == []


FOUND = [
    'x=(a M); "${x[@]:1}"',
    "x=(a M); ${x[-1]}",
    "echo ${x[$(M)]}",
    "x[$(M)]=1",
    "let 'x[$(M)]=1'",
    "x='a[$(M)]'; ((x))",
    "[[ -v 'x[$(M)]' ]]",
    "x=(a); unset 'x[$(M)]'",
    ". <(echo M)",
    "x=M;$\\\n{x}",
    "echo ${x-<(M)}",
    "x=M M$x",
    "cat <<*\n`M`\n*\n",
    "cat <<'E'\na\\\nE\nM\n",
    "[[<(M) a",
    "x=(<(M)); wait $!",
    "x=(x) x=()# x=(a M);${x[1]}",
    "((<<E\n)); M",
    "((M) | . <(echo ''M))",
    "BASH_ENV=<(M); wait $!",
    "x['$(M)' ]=",
    "x[ ]= M",
    "f() { set M; $*; }\nf",
    ". <(E\necho M)",
    "echo ${x[$((1+$(M)))]}",
    "mapfile ] x<<<'M'; \"${x[@]}\"'M' ''",
    "mapfile t x<<<''M; M\"${x[@]}\"",
    "mapfile -t x M<<<'M'; \"${x[@]}\"",
    "echo $['$(M)']",
    "echo \"[$['$(M)']\"",
    "((#$('';eval M)))",
    "((#$(until x= M;do k;done)))",
    "(($((1)) + $(a; M)))",
    "x=($[ $(x='a[$(echo a)]'; ((x))) ] \"a `M` b\"); M",
    "[['';M ",
    "select i in a;d\\\no M;done<<<1",
    "<<B\nB\nselect i in a;d\\\no M;done<<<1",
    "<<'B'\na\\\nb\nB\nselect i in a;d\\\no M;done<<<1",
    "mapfile -t x<<<$y'M';\"${x[@]}\"",
    "read x <<<$y'M';$x",
    'x=(a M);"${x[@]:1<<0}"',
    "case $((x)#) in(*) M;;esac",
    "[[ a =~ (|#b) ]]&M",
    "[[ a =~ (a)# ]]&M",
    "x=$(<<-E\na\nEa);M",
    "echo \"$(<<'E F'\nE Feval M)\"",
    "cat <<E $(echo\necho);M\nE",
    "(($(<<'E'\nEM)))",
    '(($(x;}""\nM)))',
    'x=(${x-"}"});M',
    "echo \"${x='}'}$(M)\"",
    "[[ $(o ${x[''}) = ${x-$((1))} ]]&M>a",
    "((a[${x=<({ M;})}]))",
    "<<E\\\n\nE'$(M)'",
    "((\n#));(M)",
    "set -M M;M$*",
    "(($([ ${x=<({ a;})}\"\";builtin eval 'M')));",
    "eval -- M",
    "set -- a M; shift; $1",
    'set -- a b M a; shift; shift 1; "$@"',
    "f() { shift; eval $1; }; f a M",
    "trap -- M EXIT",
    ". -- <(echo M)",
    "mapfile -te x<<<'M';\"${x[@]}M\"",
    "select i# in;do M;done<<<1;M",
]
"""Scripts that earlier runs found, shortened."""


@pytest.mark.parametrize("text", FOUND)
def test_what_was_unseen_once_is_seen(text: str) -> None:
    assert run_by_bash([text]) == {0}
    assert seen(text)


def test_a_known_gap_is_told_from_what_is_to_be_mended() -> None:
    assert known_gap('mapfile -t x <file <<<M; "${x[@]}M"').startswith("a redirection that fails")
    assert not any(map(known_gap, FOUND))


def test_a_script_that_does_not_run_the_command_is_told_from_one_that_does() -> None:
    assert run_by_bash(["echo M", "M", "false && M", "echo $(M)", "while :; do :; done"][:4]) == {1, 3}
    assert not seen("echo a")
    assert [text for text in unseen(["M", "echo a"]) if text] == []


ZSH = [
    "noglob M", "- M", "repeat 2 M", "repeat 2; do M; done", "for x (a b) M", "foreach x (a b); M; end",
    "if true { M }", "() { M }", "{ M } always { echo a }", "function { M }", "M &!", "M &|", "echo =(M)",
    "case x { x) M ;; }", "while true { M }", "echo ${(e):-$(M)}", "nocorrect M",
    "echo \"${x:-don't}\"; M; echo \"it's}\"",
    "command - M", "if [[ -n a ]] M", "builtin eval M", "x=M; ${=x}", "autoload -U a; M", "print -z; M",
]  # fmt: skip
"""Forms that zsh runs and bash does not, or otherwise: zsh is the shell of the CLI's Bash tool on some machines.

Known gaps: `for x in a { M }`, `$=x`, and what a glob's qualifier runs, `*(e:M:)`.
"""


@pytest.mark.parametrize("text", ZSH)
def test_what_zsh_would_run_is_seen(text: str) -> None:
    assert seen(text)
