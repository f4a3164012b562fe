"""Where a passage matches: the spans of its words, the words of the question they answer, and a snippet around them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from limen.brain.analysis import forms_of, spans_of, terms_of
from limen.brain.retrieval.phrases import WORD, places
from limen.brain.retrieval.query import Atom

__all__ = ["Marker", "Marks", "snippet"]

SNIPPET_CHARS = 320
_LEAD_CHARS = 40
MOST_SPANS = 200

CharSpan = tuple[int, int]


class Marks(NamedTuple):
    """The spans that matched, ascending and apart from each other, and the words of the question they stand for."""

    spans: tuple[CharSpan, ...]
    words: tuple[str, ...]


class Marker:
    """Marks what one question asks for, in any number of texts."""

    def __init__(
        self, words: Sequence[str], exact: Sequence[Atom] = (), respelled: Mapping[str, str] | None = None
    ) -> None:
        """`exact` are phrases and prefixes; `respelled` gives the term that was looked for in a term's stead."""
        self._exact = exact
        instead = respelled or {}
        self._word_of = {instead.get(term, term): word for word in reversed(words) for term in terms_of(word)}
        self._beginnings = frozenset(shape for term in self._word_of for shape in _beginnings(term))

    def mark(self, text: str) -> Marks:
        """What of the question is in this text, and where."""
        found = [*self._exactly(text), *self._by_term(text)]
        answered = dict.fromkeys(word for _, _, word in sorted(found))
        return Marks(_apart(((start, end) for start, end, _ in found)), tuple(answered))

    def _exactly(self, text: str) -> Iterator[tuple[int, int, str]]:
        for atom in self._exact:
            for start, end in places(atom, text):
                yield start, end, atom.text if atom.kind == "phrase" else f"{atom.text}*"

    def _by_term(self, text: str) -> Iterator[tuple[int, int, str]]:
        beginnings = self._beginnings
        for found in WORD.finditer(text):
            word = found[0]
            # Few words match, and only those are looked at more closely. A plain word has one term.
            if word[:2] not in beginnings and word.isalpha() and word.isascii() and word[1:].islower():
                continue
            if not self._word_of.keys().isdisjoint(terms_of(word)):
                for term, start, end in spans_of(word):
                    if term in self._word_of:
                        yield found.start() + start, found.start() + end, self._word_of[term]


def _beginnings(term: str) -> Iterator[str]:
    """How a plain word of this term may begin: a stemmer leaves two letters alone, but makes `die` of `dying`."""
    second_letters = "yi" if term[1:2] in {"y", "i"} else term[1:2] or ascii_lowercase
    for second in second_letters:
        yield term[0] + second
        yield term[0].upper() + second
    for form in forms_of(term):
        yield form[:2]
        yield form[:2].capitalize()


def snippet(text: str, spans: Sequence[CharSpan], chars: int = SNIPPET_CHARS) -> CharSpan:
    """The part of the text, at most so many characters, that shows the most of what matched."""
    if len(text) <= chars:
        return 0, len(text)
    starts = [max(0, start - _LEAD_CHARS) for start, _ in spans] or [0]
    best = max(starts, key=lambda begin: (_shown(spans, begin, begin + chars), -begin))
    begin = max(0, min(best, len(text) - chars))
    end = begin + chars
    space_before = text.find(" ", begin, begin + _LEAD_CHARS // 2) if begin else -1
    space_after = text.rfind(" ", end - _LEAD_CHARS // 2, end) if end < len(text) else -1
    return (space_before + 1 if space_before >= 0 else begin), (space_after if space_after > begin else end)


def _shown(spans: Sequence[CharSpan], begin: int, end: int) -> int:
    return sum(stop - start for start, stop in spans if begin <= start and stop <= end)


def _apart(spans: Iterable[CharSpan]) -> tuple[CharSpan, ...]:
    merged: list[CharSpan] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged[:MOST_SPANS])
