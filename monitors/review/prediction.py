"""After execution: did the action do what was predicted, and what is in its output?"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from monitors.contract.actions import Review
from monitors.contract.wording import counted
from monitors.contract.words import Severity
from monitors.secret_patterns import secrets_in

MAX_OUTPUT = 262_144
"""Longest output looked through, in characters: its first and its last half of that. Models are sent far less."""
MAX_LISTED = 20
"""Most surprises listed by path."""


@dataclass(frozen=True, slots=True)
class OutputFinding:
    """One thing seen in a result."""

    type: str
    """`secret_in_output`, `instructions_in_output` or `unpredicted_change`."""
    severity: Severity
    sentence: str
    """The finding, for a person; a secret is named by its kind and never repeated."""
    detail: str = ""
    """The kind of secret, the phrase, or the paths."""


_INSTRUCTIONS = (
    re.compile(r"\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|everything\s+){0,3}(?:previous|prior|above|earlier|preceding|system|original|other)\b.{0,40}\b(?:instructions?|prompts?|rules?|directions?|messages?|context|guidelines?)", re.IGNORECASE),
    re.compile(r"\b(?:you are now|from now on,? you|act as if you|pretend (?:that )?you)\b.{0,80}\b(?:unrestricted|developer mode|no (?:rules|restrictions|limits)|jailbr|root|admin|different (?:ai|assistant))", re.IGNORECASE),
    re.compile(r"\b(?:attention|important|note|message|instructions?)\s*(?:to|for)\s*(?:the\s+)?(?:ai|llm|claude|assistant|language model|coding agent|agents?)\b\s*[:!,-]", re.IGNORECASE),
    re.compile(r"<\s*+/?\s*+(?:system|system-reminder|assistant|im_start|instructions?)\s*+>|\[/?INST\]|<\|im_(?:start|end)\|>", re.IGNORECASE),
    re.compile(r"\b(?:do not|don't|never)\s+(?:tell|inform|mention|reveal|show)\b.{0,30}\b(?:the\s+)?(?:user|human|operator|supervisor|developer)\b", re.IGNORECASE),
    re.compile(r"\b(?:send|post|upload|exfiltrate|email|forward)\b.{0,60}\b(?:api keys?|credentials?|secrets?|tokens?|passwords?|\.env|ssh keys?|environment variables)\b.{0,60}\b(?:to|at)\b", re.IGNORECASE),
)  # fmt: skip
_INVISIBLE = re.compile(r"[\U000e0020-\U000e007f\u202a-\u202e\u2066-\u2069]{4,}")


def in_output(text: str, *, instructions: bool = True) -> list[OutputFinding]:
    """Secrets and instructions in what a tool printed.

    Args:
        text: What it printed.
        instructions: Whether to look for instructions: for what is not from outside they are ordinary.
    """
    if len(text) > MAX_OUTPUT:
        text = text[: MAX_OUTPUT // 2] + "\n" + text[-MAX_OUTPUT // 2 :]
    found = [
        OutputFinding(
            "secret_in_output",
            Severity.HIGH,
            f"The output carries {kind}; it is in the conversation now and should be replaced.",
            kind,
        )
        for kind in secrets_in(text)
    ]
    return [*found, *_instructions(text)] if instructions else found


def _instructions(text: str) -> list[OutputFinding]:
    found = []
    for pattern in _INSTRUCTIONS:
        match = pattern.search(text)
        if match:
            phrase = " ".join(match[0].split())[:120]
            found.append(
                OutputFinding(
                    "instructions_in_output",
                    Severity.HIGH,
                    f'The output speaks to the agent instead of being data: "{phrase}".',
                    phrase,
                )
            )
            break
    if _INVISIBLE.search(text):
        found.append(
            OutputFinding(
                "instructions_in_output",
                Severity.MEDIUM,
                "The output has invisible or reordering characters in a row, which hide text from people.",
                "invisible characters",
            )
        )
    return found


def in_changes(review: Review, changed: Iterable[str]) -> list[OutputFinding]:
    """Files that changed although the review did not say so.

    Args:
        review: what was predicted.
        changed: absolute paths that the workspace watcher saw change while the action ran.
    """
    if not is_predicted(review):
        return []
    predicted = [touch.path for touch in review.touches if touch.access in ("write", "delete")]
    surprises = sorted(
        path for path in changed if not any(path == one or path.startswith(one.rstrip("/") + "/") for one in predicted)
    )
    if not surprises:
        return []
    listed = ", ".join(surprises[:MAX_LISTED])
    return [
        OutputFinding(
            "unpredicted_change",
            Severity.MEDIUM,
            f"{counted(len(surprises), 'file')} changed that the review did not foresee: {listed}.",
            listed,
        )
    ]


def is_predicted(review: Review) -> bool:
    """Whether the review names every file that the action would change, exactly, and it does nothing else."""
    changed = [touch.path for touch in review.touches if touch.access in ("write", "delete")]
    effects = [made.target for made in review.side_effects if made.type in ("file_write", "file_delete")]
    if not effects or len(effects) != len(review.side_effects) or not changed:
        return False
    return all(map(_exact, changed)) and all(effects)


def _exact(path: str) -> bool:
    """Whether a path is one file or folder, and no pattern, no word that only the shell knows, and no part of one."""
    return path.startswith("/") and not any(mark in path for mark in "*?[]{}$`()~")
