"""How alike texts are to what somebody asks, as a whole and word by word, by the vectors of an embedder.

For a few thousand short texts that are all looked at; passages of documents have an index of their own.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from limen.models.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Alike", "Likeness", "rarity"]


class Alike(Struct, frozen=True):
    """How alike each text is, from 0 to 1."""

    whole: list[float]
    """As a whole."""
    near: list[float]
    """By how near each word of the question comes to any word of the text, rare words counting for more."""


def rarity(found: int, total: int) -> float:
    """How telling a word is that so many of all texts have."""
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


class Likeness:
    """The vectors of texts and of all their words. A text is given as plain words with spaces between them."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        import numpy as np

        # A text without a word still has a place.
        said = [sorted(set(text.split())) or [""] for text in texts]
        vocabulary = {word: number for number, word in enumerate(sorted({word for words in said for word in words}))}
        self._embedder = embedder
        self._whole = embedder.embed(texts)
        self._vocabulary = embedder.embed(list(vocabulary))
        self._numbers = np.array([vocabulary[word] for words in said for word in words], dtype=np.intp)
        self._starts = np.cumsum([0, *(len(words) for words in said[:-1])])
        spread = np.bincount(self._numbers, minlength=len(vocabulary)).tolist()
        self._rarity = {word: rarity(spread[number], len(texts)) for word, number in vocabulary.items()}
        self._rarest = rarity(0, len(texts))

    def to(self, question: str) -> Alike:
        """How alike every text is to a question."""
        import numpy as np

        words = sorted(set(question.split())) or [""]
        vectors = self._embedder.embed([question, *words])
        whole = np.einsum("td,d->t", self._whole, vectors[0]).clip(0, 1)
        return Alike(whole.tolist(), self._near(words, vectors[1:]).tolist())

    def _near(self, words: Sequence[str], vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
        import numpy as np

        # Not by `@`: spread over threads, so small a product takes up to thirty times as long on a busy machine.
        alike = np.einsum("vd,qd->vq", self._vocabulary, vectors).clip(0, 1).take(self._numbers, axis=0)
        nearest = np.maximum.reduceat(alike, self._starts, axis=0)
        weights = np.array([self._rarity.get(word, self._rarest) for word in words], dtype=np.float32)
        return np.einsum("tq,q->t", nearest, weights) / weights.sum()
