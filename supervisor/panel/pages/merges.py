"""Merges of agents' branches that wait for a person: on the board, and on the page of the agent or of its task."""

from collections.abc import Sequence

import htpy as h

from monitors.contract.wording import counted
from supervisor.cli.output.words import clean
from supervisor.panel.pages.parts import Data, age, agent_link, ask, path

SENTENCE = 1_000
"""Characters of a sentence that are shown."""

MOST_SHOWN = 20
"""Cards on the board: what stands below must stay in reach."""


def merges_section(merges: Sequence[Data]) -> h.Node:
    """The branches that wait to be merged; nothing if none does."""
    if not merges:
        return None
    return h.section(id="merges", aria_labelledby="merges-title")[
        h.h2(id="merges-title")[f"{counted(len(merges), 'branch waits', 'branches wait')} to be merged"],
        [merge_card(one) for one in merges[:MOST_SHOWN]],
        h.p(class_="muted")[f"{len(merges) - MOST_SHOWN:,} more: chaperon merge"] if len(merges) > MOST_SHOWN else None,
    ]


def merge_card(merge: Data) -> h.Element:
    """A branch that waits, with the buttons that merge it or take it off the list."""
    agent = str(merge["id"])
    sizes = f"{counted(merge['commits'], 'commit')}, {counted(merge['files'], 'file')}"
    told = f" is in conflict with {clean(merge['target'], 200)}" if merge["conflicts"] else " has work to merge"
    return h.article(id=f"merge-{agent}", class_="card waits row", tabindex="0", data_open=path("agents", agent))[
        h.header[h.h3[agent_link(agent), told], h.span(class_="muted")[age(float(merge["at"]))]],
        h.p[h.code[clean(merge["branch"], 200)], " into ", h.code[clean(merge["target"], 200)], f": {sizes}."],
        h.p(class_="muted")[clean(merge["why"], SENTENCE)],
        h.div[h.p["In conflict:"], conflict_list(merge["conflicts"])] if merge["conflicts"] else None,
        h.div(class_="buttons")[merge_buttons(merge), h.a(href=path("agents", agent, "diff"))["Show the content"]],
    ]


def merge_buttons(merge: Data) -> h.Node:
    """The buttons that merge what the page shows, into this target and no other, or take it off the list."""
    branch, target = clean(merge["branch"], 200), clean(merge["target"], 200)
    sizes = f"{counted(merge['commits'], 'commit')}, {counted(merge['files'], 'file')}"
    target_of = path("merges", str(merge["id"]))
    withdraw = ask(
        "Withdraw…",
        "confirm",
        f"{target_of}/withdraw",
        title=f"Do not merge {branch}",
        question=f"{branch} stays as it is, and is not merged.",
    )
    merge_it = ask(
        "Merge…",
        "confirm",
        f"{target_of}/carry-out",
        kind="good",
        title=f"Merge {branch}",
        body={"into": str(merge["target"])},
        question=f"{branch} goes into {target} of {clean(merge['project'], 400)}: {sizes}.",
    )
    return h.fragment[merge_it, withdraw]


def conflict_list(conflicts: Sequence[Data]) -> h.Node:
    """The files in conflict, and what each is about."""
    if not conflicts:
        return ""
    return h.ul[(h.li[h.code[clean(one["path"], 300)], " ", clean(one["what"], SENTENCE)] for one in conflicts)]
