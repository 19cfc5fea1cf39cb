"""Playbooks of Ansible for this machine: each of their tasks as the command that does the same.

They are read leniently and line by line, as other files of a project are.
"""

import re
import shlex
from collections.abc import Iterator, Mapping

from monitors.contract.expressions import later
from monitors.review.languages.project.recipes import Recipe

MAX_TASKS = 100
"""Most tasks of one file that are read."""
_LOCAL = later(
    r"^\s{0,20}(?:- )?(?:hosts:\s{0,9}[\"']?(?:localhost|127\.0\.0\.1)\b|connection:\s{0,9}[\"']?local\b)", re.MULTILINE
)
_MODULE = later(
    r"(\s{0,40}(?:- )?)(?:ansible\.(?:builtin|legacy|posix)\.|community\.general\.)?(file|copy|template|get_url|unarchive|shell|command|raw|script|user|group|service|systemd|lineinfile|blockinfile|cron|git|synchronize):\s{0,9}(.{0,2000})\Z"
)
_FIELD = later(r"(\s{0,40})(?:- )?([a-z_]{1,30}):\s{0,9}(.{0,2000})\Z")
_INLINE = later(r"\b([a-z_]{1,30})=(\"[^\"]{0,500}\"|'[^']{0,500}'|\S{1,500})")


def local_tasks(text: str) -> Iterator[Recipe]:
    """Yield the commands that a playbook has run here, as one script; none if it is for other machines."""
    if _LOCAL.search(text):
        lines = [line for module, said in _tasks(text) if (line := _command(module, said))]
        if lines:
            yield Recipe("tasks", "\n".join(lines))


def _tasks(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    lines, at, seen = text.splitlines(), 0, 0
    while at < len(lines) and seen < MAX_TASKS:
        found = _MODULE.match(lines[at])
        at += 1
        if found is None:
            continue
        seen += 1
        deep, rest = len(found[1]), found[3].strip()
        said = {match[1]: match[2].strip("\"'") for match in _INLINE.finditer(rest)}
        said[""] = rest.strip("\"'") if rest[:1] not in "|>" else ""
        while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > deep):
            field = _FIELD.match(lines[at])
            if field is not None and rest[:1] not in ("|", ">"):
                said[field[2]] = field[3].strip().strip("\"'")
            elif not field or rest[:1] in ("|", ">"):
                said[""] += f"{lines[at].strip()}\n"
            at += 1
        yield found[2], said


def _command(module: str, said: Mapping[str, str]) -> str:
    """Return the command that does what a task says; empty if nothing is known of it."""

    def of(*names: str) -> str:
        return next((_word(said[name]) for name in names if said.get(name)), "")

    gone = said.get("state") in ("absent", "stopped")
    match module:
        case "shell" | "command" | "raw" | "script":
            return said.get("cmd") or re.sub(r"\s(?:chdir|creates|removes)=\S+", "", said[""])
        case "file":
            path = of("path", "dest", "name")
            return f"rm -rf {path}" if gone and path else f"touch {path}" if path else ""
        case "get_url" | "unarchive":
            return f"curl -o {of('dest')} {of('url', 'src')}" if "://" in of("url", "src") else f"tee {of('dest')}"
        case "copy" | "template" | "lineinfile" | "blockinfile":
            return f"tee {of('dest', 'path')}" if of("dest", "path") else ""
        case "git":
            return f"git clone {of('repo')} {of('dest')}"
        case "user" | "group":
            return f"{module}{'del -r' if gone else 'add'} {of('name')}"
        case "service" | "systemd":
            return f"systemctl stop {of('name')}" if gone else ""
        case "cron":
            return f"echo {of('job')} | crontab -" if of("job") else ""
    return ""


def _word(text: str) -> str:
    """Return a value as a word of the shell, with a `~` in front and variables left for what they are."""
    if re.match(r"~(?:/[\w./-]*)?\Z", text):
        return text
    return shlex.quote(
        re.sub(r"\{\{\s{0,9}(?:lookup\(.env., ?.HOME.\)|ansible_env\.HOME|ansible_user_dir)\s{0,9}\}\}", "~", text)
    ).replace("'~/", "~/'")
