"""From text to index terms, the same way for documents and for questions; knows no index and no ranking.

A term is a folded, stemmed word. Identifiers, file names and versions are kept whole and also give their parts; scripts
that do not put spaces between words give pairs of characters, and Han single characters too.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, Protocol

from limen.brain.wordforms import BASES

__all__ = [
    "HAS_NAME",
    "HAS_NAMES",
    "HAS_NUMBER",
    "HAS_QUOTE",
    "HAS_TIME",
    "forms_of",
    "marks_of",
    "spans_of",
    "terms_of",
]

HAS_TIME: Final = 4
"""In `marks_of`: it speaks of a time, as `yesterday`, `in May` or `2019`."""
HAS_NAME: Final = 8
"""A capital letter within a sentence."""
HAS_NUMBER: Final = 16
HAS_NAMES: Final = 32
"""Two such capitals or more."""
HAS_QUOTE: Final = 64
"""Something in quotation marks that begins with a capital, as titles do."""

_LONGEST: Final = 64
"""Characters of a term; the rest of a longer word does not count."""
_LONGEST_TOKEN: Final = 4096

# Vowel signs and accents belong to their word, though they are no letters to `re`.
_LETTER: Final = (
    r"[\w\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0966-\u109f\u1780-\u17d3\u3099\u309a]"
)
_TOKEN: Final = re.compile(rf"{_LETTER}+(?:[.'\u2019/@:\-]{_LETTER}+)*")
_HAN: Final = r"\u2e80-\u2fdf\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED: Final = (
    rf"{_HAN}\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\uac00-\ud7a3\u1100-\u11ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_PART: Final = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}](?:(?![{_UNSPACED}_]){_LETTER})*")
_HUMP: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_IS_CAMEL: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_IS_WHOLE: Final = re.compile(r"[\w][_./@:][\w]")
_IS_HAN: Final = re.compile(rf"[{_HAN}]")
_ORDINAL: Final = re.compile(r"([0-9]+)(?:st|nd|rd|th)")
_ACCENTS: Final = re.compile(
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+"
)
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")
_TIME_WORDS: Final = """
    yesterday today tomorrow tonight ago last next since recently lately soon week weeks weekend weekends month months
    year years day days morning mornings evening evenings night nights summer winter spring autumn fall monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august september october
    november december
"""
_NUMBER_WORDS: Final = """
    one two three four five six seven eight nine ten dozen once twice few couple several many
"""
_TIMES: Final = frozenset(_TIME_WORDS.split())
_NUMBERS: Final = frozenset(_NUMBER_WORDS.split())
_PLAIN_WORD: Final = re.compile(r"[a-z]+|[0-9]+")
_YEAR: Final = re.compile(r"\b(?:19|20)[0-9]{2}\b")
_NAME: Final = re.compile(r"[a-z,;] [A-Z][a-z]")
_QUOTE: Final = re.compile(r"[\"“«][A-Z]")


def terms_of(text: str) -> Sequence[str]:
    """The terms of a text, in order and with repetitions, as an index keeps them."""
    terms: list[str] = []
    for token in _TOKEN.findall(text):
        terms += _terms_of_token(token)
    return terms


def spans_of(text: str) -> Sequence[tuple[str, int, int]]:
    """The same terms, each with the characters it stands for: from, up to."""
    return [
        (term, token.start() + start, token.start() + end)
        for token in _TOKEN.finditer(text)
        for term, start, end in _pieces(token[0])
    ]


def forms_of(term: str) -> Sequence[str]:
    """The words of this term that may begin otherwise than it does."""
    return _irregular().get(term, ())


def marks_of(text: str) -> int:
    """What kind of facts a passage holds, as bits: a time, names, a number, a quoted title."""
    words = set(_PLAIN_WORD.findall(text.lower()))
    names = len(_NAME.findall(text))
    has_digits = any(word.isdigit() for word in words)
    bits = HAS_TIME if not words.isdisjoint(_TIMES) or (has_digits and _YEAR.search(text)) else 0
    bits |= HAS_NUMBER if has_digits or not words.isdisjoint(_NUMBERS) else 0
    bits |= HAS_QUOTE if _QUOTE.search(text) else 0
    return bits | (HAS_NAMES | HAS_NAME if names > 1 else HAS_NAME if names else 0)


class _Stems(Protocol):
    def stemWord(self, word: str) -> str: ...


@lru_cache(maxsize=1 << 17)
def _terms_of_token(token: str) -> tuple[str, ...]:
    return tuple(term for term, _, _ in _pieces(token))


def _pieces(token: str) -> Iterator[tuple[str, int, int]]:
    """The terms of what stands between spaces, whole identifiers first."""
    token = token[:_LONGEST_TOKEN]
    if len(token) <= _LONGEST and _IS_WHOLE.search(token):
        yield _folded(token), 0, len(token)
    for part in _PART.finditer(token):
        start, word = part.start(), part[0]
        if start and word in {"s", "S"} and token[start - 1] in "'\u2019":
            continue
        if re.match(f"[{_UNSPACED}]", word):
            yield from _pairs(word, start)
        else:
            yield from _words(word, start)


def _words(word: str, start: int) -> Iterator[tuple[str, int, int]]:
    if _IS_CAMEL.search(word):
        yield _folded(word)[:_LONGEST], start, start + len(word)
        for hump in _HUMP.finditer(word):
            yield _stemmed(hump[0].lower())[:_LONGEST], start + hump.start(), start + hump.end()
    elif folded := _folded(word):
        # What consists of accents alone leaves nothing.
        yield _stemmed(folded)[:_LONGEST], start, start + len(word)


def _pairs(run: str, start: int) -> Iterator[tuple[str, int, int]]:
    for place, char in enumerate(run):
        if (len(run) == 1 or _IS_HAN.match(char)) and (folded := _folded(char)):
            yield folded, start + place, start + place + 1
        if place + 1 < len(run) and (folded := _folded(run[place : place + 2])):
            yield folded, start + place, start + place + 2


def _folded(text: str) -> str:
    """Without case, accents and width."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", bare).casefold()


def _stemmed(word: str) -> str:
    if word.isdigit() or len(word) > _LONGEST:
        return word
    if word[0].isdigit():
        ordinal = _ORDINAL.fullmatch(word)
        return ordinal[1] if ordinal else word
    if _CYRILLIC.match(word):
        return _stemmer("russian").stemWord(word)
    return _stemmer("english").stemWord(BASES.get(word, word))


@cache
def _irregular() -> Mapping[str, Sequence[str]]:
    forms: dict[str, list[str]] = {}
    for form, base in BASES.items():
        forms.setdefault(_stemmed(base), []).append(form)
    return forms


@cache
def _stemmer(language: str) -> _Stems:
    import Stemmer  # a process that never searches does not pay for it

    # Its own cache would be a second one behind ours.
    return Stemmer.Stemmer(language, 0)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
