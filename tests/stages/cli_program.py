"""Files that stand in for the CLI: programs of Python that a daemon starts as it starts the CLI."""

import sys
from pathlib import Path

PYTHON = f"{sys.base_prefix}/bin/python3"

HEAD = f"""\
#!/bin/sh
''':'
[ "$1" = --version ] && echo "2.1.329 (Claude Code)" && exit
exec {PYTHON} -IS "$0" "$@"
'''
"""
"""Their beginning, to the shell a program and to Python a text. Each daemon asks for the version: the shell answers in
1 ms of a processor, Python in 18, and in 40 with its packages."""

HEAD_OF_PYTHON = f"#!{PYTHON} -IS\n"
"""That of one which answers for its version itself."""


def write_cli(path: Path, program: str, head: str = HEAD) -> None:
    """Write a program that can be started."""
    path.write_text(head + program)
    path.chmod(0o755)
