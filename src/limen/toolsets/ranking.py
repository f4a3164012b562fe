"""Ranks tools by how well their definitions fit what somebody looks for; knows no server and no caller.

Up to three views are put together, each from 0 to 1, so that a score means the same at every query: words that both
sides have (BM25, a tool's name counting for more than its arguments) and, where there is an embedder, how alike the two
are as a whole, and how near each word of the query comes to any word of the tool.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from limen.brain.analysis import terms_of
from limen.brain.retrieval.stopwords import STOP_WORDS
from limen.models.likeness import Likeness, rarity
from limen.models.ports import Embedder
from limen.shapes import items_of, object_of

__all__ = ["Ranked", "ToolRanking", "ToolText"]

_K1: Final = 1.2
_B: Final = 0.5
_NAME, _TITLE, _DESCRIPTION, _ARGUMENTS = 3.0, 2.0, 1.0, 0.4
_SHARE_WORDS, _SHARE_WHOLE, _SHARE_NEAR = 0.3, 0.3, 0.4
"""What each view contributes; chosen with tests/unit/toolsets/toolsamples.py, where near shares do about as well."""
_LEAST: Final = 0.3
"""What has less than this share of the best score is not worth a client's tokens."""
_CHANCE: Final = 0.1
"""So alike in meaning are texts that have nothing to do with each other."""
_SIGNS: Final = ".,;:!?()[]{}<>\"'`"
_JOINT: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-./:]+")


_decode_definition = msgspec.json.Decoder(dict[str, Any]).decode


class ToolText(Struct, frozen=True):
    """What a tool says of itself."""

    name: str
    title: str = ""
    description: str = ""
    arguments: str = ""
    """Names and descriptions of its arguments."""

    @classmethod
    def read(cls, definition: bytes) -> "ToolText":
        """What a definition says."""
        said = _decode_definition(definition)
        title = said.get("title") or object_of(said.get("annotations")).get("title")
        properties = object_of(object_of(said.get("inputSchema")).get("properties"))
        arguments = [_argument(name, object_of(about)) for name, about in properties.items()]
        return cls(_text(said.get("name")), _text(title), _text(said.get("description")), " ".join(arguments))


class Ranked(Struct, frozen=True):
    """A tool that fits, by its place among those that were given."""

    place: int
    score: float


class ToolRanking:
    """An index of tools. Made once for each catalog; a query takes a few milliseconds for a thousand tools."""

    def __init__(self, tools: Sequence[ToolText], embedder: Embedder | None = None) -> None:
        self._words = _Words(tools)
        self._likeness = Likeness([_spoken(tool) for tool in tools], embedder) if embedder and tools else None

    def rank(self, query: str, among: Collection[int] | None = None) -> Sequence[Ranked]:
        """Those that fit, best first and `among` these places only; equal ones in the order they were given."""
        scores = self._words.scores(query)
        least = 0.0
        if self._likeness is not None:
            alike, least = self._likeness.to(_plain(query)), _CHANCE
            meant = (
                _SHARE_WHOLE * whole + _SHARE_NEAR * near for whole, near in zip(alike.whole, alike.near, strict=True)
            )
            scores = {place: _SHARE_WORDS * scores.get(place, 0.0) + more for place, more in enumerate(meant)}
        if among is not None:
            scores = {place: score for place, score in scores.items() if place in among}
        least = max(least, _LEAST * max(scores.values(), default=0.0))
        found = [Ranked(place, round(score, 4)) for place, score in scores.items() if score >= least and score > 0]
        return sorted(found, key=lambda ranked: (-ranked.score, ranked.place))


class _Words:
    """BM25 over the terms of definitions."""

    def __init__(self, tools: Sequence[ToolText]) -> None:
        counted = [_counts(tool) for tool in tools]
        lengths = [math.fsum(counts.values()) for counts in counted]
        mean = math.fsum(lengths) / max(1, len(lengths)) or 1.0
        self._worth: dict[str, list[tuple[int, float]]] = {}
        """The tools that have a term, with what it is worth there."""
        for place, (counts, length) in enumerate(zip(counted, lengths, strict=True)):
            norm = _K1 * (1 - _B + _B * length / mean)
            for term, count in counts.items():
                self._worth.setdefault(term, []).append((place, count * (_K1 + 1) / (count + norm)))
        self._total = len(tools)

    def scores(self, query: str) -> dict[int, float]:
        """What each tool has that shares a term with the query, as a share of the most there could be."""
        wanted = sorted(set(terms_of(_telling(query))))
        rarities = [rarity(len(self._worth.get(term, ())), self._total) for term in wanted]
        # A word that no tool has counts as well: the fewer of the words are found, the less it is what was meant.
        most = math.fsum(rarities) * (_K1 + 1)
        scores: dict[int, float] = {}
        for term, telling in zip(wanted, rarities, strict=True):
            for place, worth in self._worth.get(term, ()):
                scores[place] = scores.get(place, 0.0) + telling * worth / most
        return scores


def _argument(name: str, about: Mapping[str, Any]) -> str:
    return " ".join([name, _text(about.get("description")), *map(_text, items_of(about.get("enum")))])


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _counts(tool: ToolText) -> dict[str, float]:
    """How often a tool has each term, weighted by where."""
    counts: dict[str, float] = {}
    fields = (tool.name, _NAME), (tool.title, _TITLE), (tool.description, _DESCRIPTION), (tool.arguments, _ARGUMENTS)
    for text, weight in fields:
        for term in terms_of(_telling(text)):
            counts[term] = counts.get(term, 0.0) + weight
    return counts


def _spoken(tool: ToolText) -> str:
    return _plain(f"{tool.name} {tool.title} {tool.description}")


def _telling(text: str) -> str:
    """The text without words that tell nothing; as it is when it has no others."""
    words = text.split()
    return " ".join([word for word in words if word.strip(_SIGNS).lower() not in STOP_WORDS] or words)


def _plain(text: str) -> str:
    """The words of a text one by one, as the embedder knows them."""
    return _telling(" ".join(word.strip(_SIGNS) for word in _JOINT.sub(" ", text).lower().split()))
