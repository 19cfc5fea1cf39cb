"""The words of a sentence that say what it is about."""

STOP_WORDS = frozenset({"with", "that", "this", "your", "from"})
"""Words of more than three letters that two sentences share by chance; shorter ones are left out anyhow."""


def words_of(text: str) -> set[str]:
    """Return its words of more than three letters, in lower case, without those that say nothing."""
    words = (word.strip(".,:;!?\"'`()*").lower() for word in text.replace("_", " ").split())
    return {word for word in words if len(word) > 3} - STOP_WORDS
