"""What search needs of a ranking, and what a ranking is told of a question; neither knows how the other works."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from limen.brain.index.ports import IndexView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Question", "Ranked", "Ranker"]


class Question(Struct, frozen=True, kw_only=True):
    """What is looked for, without operators, dates understood or filters: those are the searcher's."""

    text: str
    """The question as it was asked, cleaned."""
    words: Sequence[str]
    """The words that count, as they were written and in their order."""
    terms: Sequence[str]
    """Their index terms, each once; empty when words must not matter."""
    vector: "NDArray[np.float32] | None" = None
    """What the question means, of length 1; None when meaning must not matter."""


class Ranked(Struct, frozen=True):
    """Passages, best first, with a score from 0 to 1 and what it was made of, one value for each passage."""

    numbers: "NDArray[np.int32]"
    scores: "NDArray[np.float64]"
    components: Mapping[str, "NDArray[np.float64]"]


class Ranker(Protocol):
    """Says which passages answer a question best. Blocking; any thread may call it."""

    def rank(self, view: IndexView, question: Question, allowed: "NDArray[np.bool_] | None", limit: int) -> Ranked:
        """The best passages of the allowed documents (all when None), never dead ones.

        The score of a passage does not depend on `allowed` or `limit`: searches ask deeper, or under another mask,
        and lay the answers together.
        """
        ...
