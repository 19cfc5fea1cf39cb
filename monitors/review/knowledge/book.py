"""All knowledge, in an explicit list."""

from monitors.review.knowledge import (
    abuse,
    agents,
    cloud,
    containers,
    coreutils,
    databases,
    elsewhere,
    git,
    packages,
    platforms,
    services,
    windows,
)
from monitors.review.rules.rules import Program, Rule

FAMILIES = (
    coreutils,
    git,
    packages,
    containers,
    cloud,
    databases,
    services,
    platforms,
    windows,
    agents,
    elsewhere,
    abuse,
)
"""The families of knowledge, in the order in which their rules are tried."""

PROGRAMS: tuple[Program, ...] = tuple(program for family in FAMILIES for program in family.PROGRAMS)
RULES: tuple[Rule, ...] = tuple(rule for family in FAMILIES for rule in family.RULES)
