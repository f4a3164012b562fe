"""Chunks by the million that look like text: a made-up vocabulary with the frequencies of a real one; deterministic."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from limen.brain.index.ports import Page, Passage
from limen.brain.records import DocumentId

__all__ = ["NoiseEmbedder", "Synthetic"]

_ONSETS = [*"bcdfghjklmnprstvwz", "br", "ch", "cl", "cr", "dr", "fl", "gr", "pl", "pr", "sh", "sl", "sp", "st", "th"]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "io", "ou"]
_CODAS = ["", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk", "st"]
_STOP = 120
"""So many of the most frequent words are what a question leaves out."""


class Synthetic:
    """A source of pages; the same arguments give the same pages."""

    def __init__(self, *, vocabulary: int = 300_000, words: int = 45, per_document: int = 5, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self._words = words
        self._per_document = per_document
        self.vocabulary = _vocabulary(self._random, vocabulary)
        weights = 1.0 / (np.arange(vocabulary) + 2.7) ** 1.05
        self._cumulated = np.cumsum(weights / weights.sum())

    def pages(self, passages: int, *, first: int = 0) -> Iterator[Page]:
        """Documents with so many passages together, numbered from `first`."""
        for number in range(passages // self._per_document):
            yield self.page(first + number)

    def page(self, number: int) -> Page:
        """The next document, with this number in its id and path."""
        lengths = self._random.integers(self._words // 2, self._words * 3 // 2, self._per_document)
        drawn = self._draw(int(lengths.sum()))
        found: list[Passage] = []
        place = start = 0
        for length in lengths.tolist():
            text = " ".join(drawn[place : place + length])
            found.append(Passage(start, start + len(text), text, "Notes > Part"))
            place += length
            start += len(text) + 2
        return Page(
            document_id=DocumentId(f"doc-{number:08d}"),
            path=f"memory/project/p{number % 50}/{number % 977:03d}/{number:08d}.md",
            title=" ".join(self._draw(4)),
            tags=(f"tag{number % 20}",),
            day=19_000 + number % 1000,
            scope="project",
            project=f"p{number % 50}",
            passages=found,
        )

    def question(self, terms: int = 8) -> Sequence[str]:
        """Words as a question has them: frequent ones, but not those that every text has."""
        found: list[str] = []
        while len(found) < terms:
            (place,) = self._places(1).tolist()
            if place >= _STOP and self.vocabulary[place] not in found:
                found.append(self.vocabulary[place])
        return found

    def _draw(self, count: int) -> list[str]:
        return list(map(self.vocabulary.__getitem__, self._places(count).tolist()))

    def _places(self, count: int) -> NDArray[np.int64]:
        return np.searchsorted(self._cumulated, self._random.random(count))


class NoiseEmbedder:
    """Random directions around a few hundred centres: vectors to scan and compare at no cost."""

    name = "noise/1"
    dimensions = 256

    def __init__(self, seed: int = 3) -> None:
        self._random = np.random.default_rng(seed)
        self._centres = self._random.standard_normal((300, self.dimensions), dtype=np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        centres = self._centres[self._random.integers(0, len(self._centres), len(texts))]
        rows = centres + 1.2 * self._random.standard_normal((len(texts), self.dimensions), dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _vocabulary(random: np.random.Generator, size: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < size:
        for _ in range(size // 4):
            syllables = 1 + int(random.integers(0, 2)) + (len(found) > 2000) + (len(found) > 60_000)
            picks = random.integers(0, 1 << 30, (syllables, 3)).tolist()
            word = "".join(
                _ONSETS[a % len(_ONSETS)] + _VOWELS[b % len(_VOWELS)] + _CODAS[c % len(_CODAS)] for a, b, c in picks
            )
            found.setdefault(word)
            if len(found) == size:
                break
    return list(found)
