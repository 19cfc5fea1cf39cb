"""All that is built in, in the order in which it is tried."""

import orjson

from monitors.review.knowledge.tables import TABLES
from monitors.review.rules.definitions import Knowledge, knowledge_from

_FAMILIES = [knowledge_from(given, family) for family, given in orjson.loads(TABLES).items()]

RULES = tuple(rule for family in _FAMILIES for rule in family.rules)
PROGRAMS = tuple(program for family in _FAMILIES for program in family.programs)
LAUNCHERS = tuple(launcher for family in _FAMILIES for launcher in family.launchers)
BUILT_IN = Knowledge(RULES, PROGRAMS, LAUNCHERS)
