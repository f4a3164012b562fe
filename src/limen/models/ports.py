"""What Limen needs of a model; nothing else knows which one answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "WordEmbedder"]


class Embedder(Protocol):
    """Turns texts into vectors whose cosine tells how alike they are. Blocking; any thread may call it."""

    @property
    def name(self) -> str:
        """The model and its version; vectors of different names are not comparable."""
        ...

    @property
    def dimensions(self) -> int:
        """How long its vectors are."""
        ...

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """One row of length 1 for each text; zeros for a text it knows no word of."""
        ...


@runtime_checkable
class WordEmbedder(Protocol):
    """An embedder that lets some words of a text count for more than others."""

    def embed_words(self, words: Sequence[str], weights: Sequence[float]) -> "NDArray[np.float32]":
        """One vector of length 1 for these words together; zeros when it knows none of them."""
        ...
