"""All that is built in, in the order in which it is tried."""

from collections.abc import Mapping
from typing import Any

import orjson

from monitors.review.knowledge.tables import TABLES
from monitors.review.rules.definitions import Knowledge, knowledge_from


def _read() -> tuple[list[Knowledge], Mapping[str, str], Mapping[str, Any]]:
    tables = orjson.loads(TABLES)  # 230 KB, which only the reading needs
    families = [knowledge_from(given, family) for family, given in tables.items()]
    return families, tables["people"]["words"], tables["proofs"]


_FAMILIES, PEOPLE, PROOFS = _read()
"""Families; the words of messages to many people: lists whose entries a `|` parts, by what they are; and of tests and
checks of a project their places, signs of an edit that takes from them, and bounds that they ask for."""

RULES = tuple(rule for family in _FAMILIES for rule in family.rules)
PROGRAMS = tuple(program for family in _FAMILIES for program in family.programs)
LAUNCHERS = tuple(launcher for family in _FAMILIES for launcher in family.launchers)
BUILT_IN = Knowledge(RULES, PROGRAMS, LAUNCHERS)
