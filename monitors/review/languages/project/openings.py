"""Files of infrastructure that open what they describe to everybody: ports of machines, databases, rules of stores."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from monitors.contract.expressions import later

_TERRAFORM = later(r"\.(?:tf|tofu)$")
_STORE_RULES = later(r"/(?:firestore|storage|database)[\w.-]*\.rules(?:\.json)?$")
_FOR_TRIAL = later(r"(?:\A|[/_.-])(?:dev|test|tests|testing|sandbox|local|examples?|fixtures?|demo|kind)(?:[/_.-]|\Z)")
"""Paths of what is made for trial alone."""

_BLOCK = later(r"^[ \t]{0,40}(?:dynamic[ \t]{1,9}\"?)?(ingress|egress|inbound|outbound|resource|security_rule)\b", re.MULTILINE)  # fmt: skip
_TO_ALL = later(
    r"\b(?:cidr_blocks|ipv6_cidr_blocks|cidr_ipv[46]|cidr|source_ranges|source_address_prefix(?:es)?)[ \t]{0,40}="
    r"[ \t]{0,9}\[?[ \t\n]{0,40}\"(?:0\.0\.0\.0/0|::/0|\*|Internet)\""
)
_OUTWARD = later(r"\b(?:egress|outbound)\b", re.IGNORECASE)
_FROM = later(
    r"\b(?:from_port|to_port|destination_port_range|ports)[ \t]{0,40}=[ \t]{0,9}\[?\"?(\*|\d{1,5}(?:-\d{1,5})?)"
)
_EVERY = later(r"\b(?:ip_)?protocol[ \t]{0,40}=[ \t]{0,9}\"(?:-1|all|\*)\"")
_DATABASE = later(r"\bpublicly_accessible[ \t]{0,40}=[ \t]{0,9}true\b")
_STORE = later(
    r"\ballow\s{1,9}(?:read\s{0,9},\s{0,9})?(?:write|create|update|delete)\b[\w\s,]{0,60}(?::\s{0,9}if\s{1,9}true\b|;)|\"\.write\"\s{0,9}:\s{0,9}\"?true\b"
)

_ENDPOINT = later(r"public_access_cidrs[ \t]{0,40}=[ \t]{0,9}\[[ \t\n]{0,40}\"(?:0\.0\.0\.0/0|::/0)\"|\bauthorized_networks\b[^}]{0,300}?\bvalue[ \t]{0,40}=[ \t]{0,9}\"0\.0\.0\.0/0\"")  # fmt: skip
_ASSUMED = later(r"assume_role_policy\b")
_ROLE = later(r"\bPrincipal\"?[ \t]{0,9}[=:][ \t]{0,9}(?:\{[ \t]{0,9}\"?AWS\"?[ \t]{0,9}[=:][ \t]{0,9})?\[?\"\*\"")  # fmt: skip
_BINDING = later(r"^kind:[ \t]{0,9}(?:Cluster)?RoleBinding\b", re.MULTILINE)
_ANYBODY = later(r"\bname:[ \t]{0,9}[\"']?system:(?:unauthenticated|anonymous|authenticated)\b")
_MANIFEST = later(r"\.ya?ml$")
_GUARDED = later(
    r"\b(block_public_acls|block_public_policy|ignore_public_acls|restrict_public_buckets|deletion_protection|storage_encrypted"
    r"|enable_key_rotation|require_ssl|(?:networkPolicy|podSecurityPolicy|tls|mtls|auth|rbac):[ \t]{0,9}\n[ \t]{1,40}enabled)"
    r"[ \t]{0,40}[=:][ \t]{0,9}(true|false)\b"
)
"""Safeguards against strangers and loss, with whether they are on."""

_INNER = (range(20, 24), range(135, 140), (445, 1433, 1521, 2375, 2379, 3306, 3389, 5432, 5601, 5984, 6379, 6443, 9042, 9200, 10250, 11211, 27017))  # fmt: skip
"""Ports of shells, of databases and what steers a cluster, which no stranger has to reach.

Source: ports that AWS Config's rule `restricted-common-ports` and CIS benchmarks name, with those of clusters.
"""
MAX_BLOCKS = 500
"""Most blocks of one file that are looked at."""


def switched_off(path: str, before: str, after: str) -> Iterator[str]:
    """Yield the safeguards of infrastructure that an edit turns off, by their keys.

    Args:
        path: Within the workspace.
        before: What the file has, or the piece of it that goes.
        after: What comes instead.
    """
    if not (_TERRAFORM.search(path) or _MANIFEST.search(path)) or _FOR_TRIAL.search(path):
        return
    was = {match[1].split(":")[0] for match in _GUARDED.finditer(before) if match[2] == "true"}
    for match in islice(_GUARDED.finditer(after), MAX_BLOCKS):
        if match[2] == "false" and match[1].split(":")[0] in was:
            yield match[1].split(":")[0]


def openings(path: str, text: str) -> Iterator[str]:
    """Yield what the file opens to everybody, each as a phrase.

    Args:
        path: Within the workspace.
        text: What the file has, or a piece of it.
    """
    if _FOR_TRIAL.search(path):
        return
    if _TERRAFORM.search(path):
        starts = [0, *(match.start() for match in _BLOCK.finditer(text))][:MAX_BLOCKS]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            block = text[start:end][:4_000]
            if _TO_ALL.search(block) and not _OUTWARD.search(block) and _reaches_inner(block):
                yield "a port of a shell, a database or all of them"
        if _DATABASE.search(text):
            yield "a database"
        if _ENDPOINT.search(text):
            yield "an endpoint"
        if _behind(text.split("}"), _ASSUMED, _ROLE):
            yield "a role"
    elif _MANIFEST.search(path) and _behind(text.split("\n---"), _BINDING, _ANYBODY):
        yield "a cluster"
    elif _STORE_RULES.search(path) and _STORE.search(text):
        yield "a store for writing"


def _behind(pieces: Iterable[str], first: re.Pattern[str], then: re.Pattern[str]) -> bool:
    """Whether one of the pieces has the second behind the first: each is searched once, as long as it may be."""
    return any((found := first.search(piece)) and then.search(piece, found.end()) for piece in pieces)


def _reaches_inner(block: str) -> bool:
    """Whether the ports of a block are all, or have one among them that no stranger has to reach."""
    named = [found.replace("*", "0-65535").partition("-") for found in _FROM.findall(block)]
    if not named:
        return _EVERY.search(block) is not None
    low = min(int(first) for first, _, _ in named)
    high = max(int(last or first) for first, _, last in named)
    return low == high == 0 or any(low <= port <= high for ports in _INNER for port in ports)
