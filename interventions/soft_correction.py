"""Soft correction: a word in the agent's ear, with the facts."""

from supervisor.protocol.issues import Issue

OPENING = "[chaperon] "
"""How every message of chaperon's begins, so that the model and a reader of the transcript know who speaks."""

TEMPLATES = {
    "repetitive_errors": (
        "The same error has now come {count} times: {error}\n"
        "Trying it once more will give it again. Look at what the error says, check what it is about (does the file "
        "exist, is the name right, may you read it?), and then take a different way. If it cannot be done, say so."
    ),
}
"""What is said about an issue of each type; the fields come from its details."""

DEFAULT = "{sentence}\nStop for a moment and compare what you are doing with what was asked: {prompt}"


def message(issue: Issue, prompt: str) -> str:
    """What the agent is told about the issue."""
    facts = {"sentence": issue.sentence, "prompt": prompt[:500], "count": "several", "error": issue.sentence}
    template = TEMPLATES.get(issue.type, DEFAULT)
    return OPENING + template.format_map({**facts, **{key: str(value) for key, value in issue.details.items()}})
