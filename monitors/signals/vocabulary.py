"""Words that carry meaning, out of prose, paths, commands and code."""

import re
from functools import lru_cache

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ers", "er", "ies", "ied", "ed", "es", "s", "y", "e")

COMMON = frozenset(
    """
    a an the and or but not no of to in on at by for from with without into onto as is are was were be been being it its this
    that these those there here then than so if else when while where which who what why how all any each every some more most
    other another same new old make made makes making do does did done doing use used uses using get got gets set sets put add
    added adds remove removed change changed changes update updated fix fixed fixes mend write written read see look show run
    runs running test tests testing file files folder directory path code please should would could can will must may might need
    needs want let lets also only just still yet again first last next one two three we you i he she they them our your my me us
    src lib app apps main index init package packages module modules js ts py go rs md json yml yaml txt html css tsx jsx mjs sql sh toml xml csv java cpp scss vue svelte log users
    user home work tmp var usr bin etc dev null true false none self return import def class function const cd ls cat grep sed
    awk head tail echo find git commit push npm npx pnpm yarn pip python python3 pytest node bash sh sudo
    """.split()  # noqa: SIM905 - a list of two hundred strings is no easier to read
)
"""Words that stand in any task or in any command and so align nothing with anything."""


def words(text: str, most: int = 2_000) -> set[str]:
    """The stems of the words of a text that mean something, camelCase and snake_case taken apart.

    Example: `mend LoginForm in src/auth/login_form.py` gives `login`, `form` and `auth`.
    """
    return {found for piece in set(_PIECE.findall(text[:most])) if (found := _meaning(piece))}


@lru_cache(maxsize=4096)
def _meaning(piece: str) -> str:
    """The stem of one word, or nothing if it means nothing."""
    word = piece.lower()
    return "" if len(word) < 3 or word in COMMON or word.isdigit() else stem(word)


def stem(word: str) -> str:
    """The word without its ending; rough, equal for most forms of one word."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
