"""All knowledge, in an explicit list."""

from monitors.review.knowledge import git, packages
from monitors.review.rules import Program, Rule

FAMILIES = (git, packages)
"""The families of knowledge, in the order in which their rules are tried."""

PROGRAMS: tuple[Program, ...] = tuple(program for family in FAMILIES for program in family.PROGRAMS)
RULES: tuple[Rule, ...] = tuple(rule for family in FAMILIES for rule in family.RULES)
