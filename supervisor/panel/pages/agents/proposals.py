"""Rollbacks that are proposed to a person: on the board, and on the page of the agent."""

from collections.abc import Iterator, Sequence

import htpy as h

from monitors.contract.wording import counted
from supervisor.cli.output.words import clean
from supervisor.panel.pages.checkpoints import PLAN, address
from supervisor.panel.pages.parts import Data, age, agent_link, ask, follow, path

SENTENCE = 1_000
"""Characters of a sentence that are shown."""


def proposals_section(agents: Sequence[Data]) -> h.Node:
    """The rollbacks that wait for a person; nothing if none does."""
    cards = [card for agent in agents for card in _cards(agent)]
    if not cards:
        return None
    return h.section(id="proposals", aria_labelledby="proposals-title")[
        h.h2(id="proposals-title")[f"{counted(len(cards), 'rollback waits', 'rollbacks wait')} for you"], cards
    ]


def _cards(agent: Data) -> Iterator[h.Element]:
    name = str(agent["agent"])
    for one in agent.get("proposed") or ():
        checkpoint = str(one["checkpoint"])
        plan = address(checkpoint, name)
        yield h.article(
            id=f"proposed-{name}-{checkpoint}-{one['issue']}", class_="card waits row", tabindex="0", data_open=plan
        )[
            h.header[
                h.h3[agent_link(name), " may go back to ", clean(checkpoint, 100)],
                h.span(class_="muted")[age(float(one["at"]))],
            ],
            h.p[clean(one["sentence"], SENTENCE)],
            h.div(class_="buttons")[
                follow("Read the plan…", f"{plan}#{PLAN}", key="a"),
                ask(
                    "Decline…",
                    "decline",
                    path("agents", name, "outcomes"),
                    kind="bad",
                    key="d",
                    title=f"Leave {clean(name, 60)} as it is",
                    body={"pattern": str(one["issue"])},
                ),
            ],
        ]
