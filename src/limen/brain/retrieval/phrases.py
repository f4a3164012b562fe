"""Whether and where a text holds a phrase or a word that begins so; letter by letter, never by index terms.

Case, and what stands between the words, do not matter: `machine learning` is found in `Machine-\\nLearning`. Scripts
written without spaces have no word boundaries to respect.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from limen.brain.retrieval.query import Atom

__all__ = ["WORD", "holds", "places"]

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
"""Runs of scripts in which words follow one another without a space (and Korean, which glues endings to its words)."""

_PUNCTUATION = (
    "\\s!-/:-@\\[-^`{-~\u00a0-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u2000-\u206f"
    "\u3000-\u3004\u3008-\u303f\uff01-\uff0f\uff1a-\uff20"
)
WORD = re.compile(f"[^{_PUNCTUATION}]+")
"""A word with the marks that belong to its letters, which `\\w` would cut at."""
_BETWEEN = f"[{_PUNCTUATION}_]{{1,24}}"


def holds(atom: Atom, text: str) -> bool:
    """Whether the text holds the phrase, or a word that begins so."""
    return _pattern(atom).search(unicodedata.normalize("NFC", text)) is not None


def places(atom: Atom, text: str) -> Iterator[tuple[int, int]]:
    """Where it does, as character spans of the text as it is."""
    return (found.span() for found in _pattern(atom).finditer(text))


@lru_cache(maxsize=256)
def _pattern(atom: Atom) -> re.Pattern[str]:
    words = WORD.findall(atom.text)
    if not words:
        return re.compile(re.escape(atom.text))
    body = _BETWEEN.join(re.escape(word) for word in words)
    before = "" if _UNSPACED.match(words[0][0]) else r"(?<!\w)"
    if atom.kind == "prefix":
        return re.compile(f"{before}{body}[^{_PUNCTUATION}]*", re.IGNORECASE)
    after = "" if _UNSPACED.match(words[-1][-1]) else r"(?!\w)"
    return re.compile(before + body + after, re.IGNORECASE)
