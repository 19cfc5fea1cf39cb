"""Checks that a change takes out of a project: of machines, of signatures, of those who ask, and of packages."""

import re
from collections.abc import Iterator

from monitors.contract.expressions import later
from monitors.review.languages.project.builds import is_source

_FOR_TRIAL = later(
    r"(?:\A|[/_.-])(?:dev|tests?|testing|spec|specs|e2e|sandbox|local|examples?|samples?|fixtures?|demo|mocks?|stubs?|bench|scripts?|tools?)(?:[/_.-]|\Z)|[a-z](?:Tests?|Spec)\.\w{1,6}\Z"
)
"""Paths of what is made for trial, or is not what users run."""
_ANYBODY = later(
    r"\bInsecureSkipVerify\s?:\s?true\b|\brejectUnauthorized[\"']?\s?:\s?false\b|\bverify\s?=\s?False\b|\bcheck_hostname\s?=\s?False\b|\bssl\.CERT_NONE\b|\b_create_unverified_context\b"
    r"|\bdanger_accept_invalid_certs\(\s?true|\bOpenSSL::SSL::VERIFY_NONE\b|\bCURLOPT_SSL_VERIFY(?:PEER|HOST)\s?,\s?(?:0|false|FALSE)\b|\bNoopHostnameVerifier\b|\bTrustAllStrategy\b"
    r"|\bServerCertificate(?:Custom)?ValidationCallback\s?\+?=[^;\n]{0,120}\btrue\b"
)
"""How code says that any machine may be the one it calls itself."""
_HERE = later(r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]")
_IN_CLEAR = later(
    r"\b(?:isA|a)llowInsecureProtocol\b\s{0,3}(?:=\s{0,3})?true\b|<url>\s{0,9}http://|\burl\s{0,3}=?\s{0,3}(?:uri\()?[\"']http://"
)
"""A place of packages that is asked without encryption."""
_BUILDS = later(r"(?:\.gradle(?:\.kts)?|/pom\.xml|/build\.sbt|/settings\.xml)\Z")
_DEFAULTS = later(r"^[ \t]{0,9}default\s{1,3}allow\w{0,20}\s{0,3}:?=\s{0,3}true\b", re.MULTILINE)
"""A policy of OPA that lets all in that no rule keeps out."""
_CHECK = later(
    r"\b(\w{0,40}(?:verify|signature|authenticate|authori[sz]e|check_?password|compare_digest|checkpw|timing_?safe|validate_?token|hmac)\w{0,40})\s?\(",
    re.IGNORECASE,
)
_PASSES = later(
    r"^[ \t]{0,40}return\s{1,3}(?:1|true|True|TRUE|nil|Ok\(\(\)\)|Ok\(true\))[ \t]{0,9};?[ \t]{0,9}(?:$|//|/\*|#)",
    re.MULTILINE,
)
"""A function that answers that all is well, whatever it is given."""


def distrusts(path: str, before: str, after: str) -> Iterator[str]:
    """Yield what a change has the project no longer check, each as a phrase.

    Args:
        path: Within the workspace.
        before: What the file has, or the piece of it that goes.
        after: What it has then, or the piece that comes instead.
    """
    if _FOR_TRIAL.search(path):
        return
    if is_source(path):
        if _more(_ANYBODY, before, after) and not _HERE.search(after):
            yield "who the machine is that it talks to"
        if _drops_check(before, after):
            yield "a signature or a login"
    if _BUILDS.search(path) and _more(_IN_CLEAR, before, after) and not _HERE.search(after):
        yield "where its packages come from"
    if path.endswith(".rego") and _more(_DEFAULTS, before, after):
        yield "who may do what"


def _drops_check(before: str, after: str) -> bool:
    """Whether a check goes, and an answer comes instead that all is well."""
    gone = {match[1] for match in _CHECK.finditer(before) if "return" in before}
    return bool(gone) and not any(f"{name}(" in after for name in gone) and _more(_PASSES, before, after)


def _more(pattern: re.Pattern[str], before: str, after: str) -> bool:
    return pattern.search(after) is not None and len(pattern.findall(after)) > len(pattern.findall(before))
