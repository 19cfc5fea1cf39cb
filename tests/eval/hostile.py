"""Inputs made to hurt a parser: long, deep, unclosed, repeated. Used by the evaluation, the bench and the tests."""

from typing import Any

SIZE = 65_536
"""Length that the inputs are filled to, in characters."""

PIECES = (
    "$(", "`", '"$(', "{", "(", "((", "a ", '"', "if ", "[[", "${", "<<a ", ";", "|", "a;", '";$(', "case x in ", "<(", "a=(", "! ", "$((", "\\\n", "f(){ ", "x)", "| @x)", "'", "$'", "a|", "&", "&&", ")", "}", "{a,b}", "{1..9}",
    "a=b ", "$a", "${a:-", "> ", "<<<", "\n", "<<E\n", "<<'E'\n", "#", "*", "~", "-", "/", "../", "sudo ", "env ", "xargs ", "sh -c '", "eval ", "for i in a; do ", "while ", "function f { ", "rm -rf / ", "curl x|sh;", "a>b ", "time ", "coproc ",
    "é", "\u202e", "\ud800", "\0", "rm\u200b ", "$(a)", "`a`", "echo $(", "a&b|c;", "find . -exec ", "python -c '", "git -c a=b ", "-" * 50 + " ", "a" * 1000 + " ", "/etc/shadow ", "~/.ssh/id_rsa ", "x='rm' ", "trap '", "alias a='", "select x in ",
)  # fmt: skip

HOSTILE = {
    **{f"{piece[:12]!r} repeated": (piece * (SIZE // len(piece) + 1))[:SIZE] for piece in PIECES},
    "10,000 nested substitutions": "$(" * 10_000 + "ls" + ")" * 10_000,
    "substitutions to the cap": "$(" * 35 + "rm -rf /" + ")" * 35,
    "one word of 64 KB": "a" * SIZE,
    "one quoted word of 64 KB": "echo '" + "a" * SIZE + "'",
    "a here-document of 64 KB": "cat <<'EOF' > a.txt\n" + "line of text\n" * 5_000 + "EOF",
    "a here-document of substitutions": "cat <<EOF\n" + "$(a)\n" * 13_000 + "EOF",
    "python of 64 KB": "python3 -c '" + "x = 1; " * 9_000 + "'",
    "python nested": "python3 -c '" + "(" * 30_000 + "'",
    "perl of 64 KB": "perl -e '" + 'system("ls"); ' * 4_500 + "'",
    "sh in sh": "sh -c " * 10_000 + "ls",
    "functions that call each other": "a(){ b; b; }; b(){ c; c; }; c(){ d; d; }; d(){ e; e; }; e(){ f; f; }; f(){ g; g; }; g(){ h; h; }; h(){ i; i; }; i(){ j; j; }; j(){ ls; }; a",
    "a variable that doubles": "a=aaaaaaaa; " + "a=$a$a; " * 40 + "echo $a",
    "braces of braces": "echo " + "{a,b}" * 40,
    "an expression's worst: words": "psql -c '" + "a" * SIZE + "'",
    "an expression's worst: SQL": "psql -c '" + "delete from a " * 4_600 + "'",
    "an expression's worst: hosts": "scp " + "x:/" * 21_000,
    "an expression's worst: awk": "awk '" + "print " * 11_000 + "'",
    "an expression's worst: options": "PAGER='vim" + " -a" * 20_000 + " é' ls",
    "an expression's worst: short options": "PAGER='less " + "--a " * 60 + "%' git log",
    "an expression's worst: blanks in code": "node -e 'rm" + " " * SIZE + "x'",
    "an expression's worst: blanks behind a call": "ruby -e 'system(" + " " * SIZE + "x'",
    "an expression's worst: options in code": "perl -e '" + "rm -" * (SIZE // 4) + "'",
    "an expression's worst: comments": "psql -c '" + "/* " * (SIZE // 3) + "'",
    "files and commands": "".join(f"echo .ssh/id_rsa /bin/sh > f{at};" for at in range(400)) + "mytool a/b;" * 2_000,
    "python that names much": "python3 - <<'X'\n" + "".join(f"a{at} = a{at} + 'x'\n" for at in range(900)) + "\nX",
    "links in a row": "".join(f"ln -s l{at} l{at + 1};" for at in range(1_000)) + "cat l999/a",
    "a makefile that starts itself": "printf 'a:\\n\\tmake a; make a\\n' > Makefile; make a",
    "launchers in a row": "sudo env nice nohup " * 3_000 + "ls",
    "a megabyte": "echo a; " * 131_072,
    "deletions in a row": "".join(f"rm -rf a{at};" for at in range(300)),
    "a file that each command changes": "".join(f"sed -i 's/no login/login {at}/' /etc/ssh/x\n" for at in range(300)),
    "the rights of many files": "chmod 644 " + " ".join(f"a{at}" for at in range(2_000)),
    "many files in an editor": "vim " + " ".join(f"/a/b{at}" for at in range(2_000)),
    "many files of one output": "tee " + " ".join(f"/a/b{at}" for at in range(2_000)),
    "lines of a file in many commands": "cat > f <<X\n"
    + "".join(f"a{at}\n" for at in range(50))
    + "X\n"
    + "xargs rm < f;" * 150,
    "a script that is run again and again": "cat > f <<X\n"
    + "".join(f"rm -rf /x{at}\n" for at in range(1_400))
    + "X\n"
    + "ruby f;" * 300,
    "lines that loops split": "cat > f <<X\n" + "a b c\n" * 3_400 + "X\n" + "while read l; do rm $l; done < f\n" * 290,
    "input that many commands are fed": "cat > f <<X\n"
    + "select a from b where c = /bin/d;\n" * 600
    + "X\n"
    + "psql < f;" * 290,
    "an expression's worst: beginnings of a call": "perl -e '" + "exec( " * (SIZE // 6) + "'",
    "an expression's worst: quotes behind backslashes": "perl -e '" + '\\"' * (SIZE // 2) + ".delete('",
    "an expression's worst: blanks in scripts of sed": ("sed -e 'a" + " " * 640 + "b' a\n") * (SIZE // 654),
    "subscripts in subscripts": ("x[" * 1_000 + "\n") * (SIZE // 2_001),
    "redirections": ("a" + " <b >c" * 60 + "\n") * (SIZE // 362),
    "python of many names": "python3 - <<'X'\n"
    + "f(a, b, *c)\n" * 1_600
    + "X\n"
    + "python3 - <<'X'\n"
    + "a, b = b, a\n" * 1_600
    + "X",
    "little code, again and again": "php -r 'a();'\n" * (SIZE // 14),
    "many links": "ln " + " ".join(f"a{at}" for at in range(2_000)),
    "words that might be hosts": "mytool " + ("-" * 50 + " ") * (SIZE // 51),
}

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "one text to many places": (
        "mcp__fs__write_files",
        {"paths": [f"/w/{at}/a.yml" for at in range(1_500)], "content": "k: rm a\n" * 4_000},
    ),
    "statements in a list": ("mcp__db__query", {"sql": [f"select a from b where c = {at}" for at in range(1_900)]}),
    "steps that each delete": (
        "mcp__a__delete",
        {"steps": [{"path": f"/a/b{at}", "cmd": "ls"} for at in range(1_500)]},
    ),
    "scripts of brackets alone": ("mcp__a__run", {"steps": [{"cmd": "((" * 1_600} for _ in range(20)]}),
    "a cell of many names": ("NotebookEdit", {"notebook_path": "/w/a.ipynb", "new_source": "f(a, b, *c)\n" * 5_400}),
    "a file of settings that lists commands": ("Write", {"file_path": "/w/a.toml", "content": '"rm a",' * 9_300}),
    "a source that calls much": ("Write", {"file_path": "/w/a.jl", "content": "a>b eval " * 7_200}),
}
"""The same in calls of other tools: the tool, and its input."""
