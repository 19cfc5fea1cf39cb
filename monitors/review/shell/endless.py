"""Loops of a script that nothing ends: what they do all the time, if nothing in them waits."""

from typing import Literal

from monitors.review.shell.tree import Function, Group, Node, Pipeline, Simple

_ALWAYS = frozenset({"true", ":", "1", "[ 1 ]", "[ true ]", "/bin/true"})
"""Conditions that always hold."""
_WAITS = frozenset({"sleep", "usleep", "wait", "read", "break", "exit", "return", "inotifywait", "fswatch", "flock", "select", "timeout", "nc", "ncat", "socat", "watch", "entr"})  # fmt: skip
"""Programs and words for which a turn of a loop waits, or by which it ends."""
_NOTHING = frozenset({":", "true", "false", "let", "continue"})
MAX_LOOKED_AT = 200
"""Most commands of a loop that are looked at; a longer one does something, and is left to its commands."""
Hurry = Literal["", "starts", "idles", "goes on"]


def hurry(group: Group) -> Hurry:
    """Return what an endless loop does without a pause: it starts jobs, does nothing, or goes on; empty for others."""
    if group.kind != "while" or not group.body or _said(group.body[0]) not in _ALWAYS:
        return ""
    names: list[str] = []
    starts = False
    pending: list[Node] = list(group.body[1:])
    while pending:
        node = pending.pop()
        if isinstance(node, Simple):
            names.append(node.words[0].text if node.words else ":")
        elif isinstance(node, Pipeline):
            pending.extend(node.stages)
        elif isinstance(node, Group) and node.kind == "&":
            starts = True  # what it waits for, the loop does not wait for
        elif isinstance(node, Group):
            pending.extend(node.body)
        elif isinstance(node, Function):
            return ""
        if len(names) > MAX_LOOKED_AT:
            return ""
    if not _WAITS.isdisjoint(name.rpartition("/")[2] for name in names):
        return ""
    if starts:
        return "starts"
    return "idles" if _NOTHING.issuperset(names) else "goes on"


def _said(node: Node) -> str:
    return " ".join(word.text for word in node.words) if isinstance(node, Simple) else ""
