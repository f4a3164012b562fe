"""Candidate passages with those before and after them in their documents, as places of one small table; pure."""

from collections.abc import Sequence
from typing import Final

from limen.brain.arrays import F32, I32, I64, Bools, np
from limen.brain.index.ports import Columns, Postings

__all__ = ["Neighbourhood", "by_document"]

_FAR_MORE: Final = 8
"""Of two sorted lists, one this many times longer is searched rather than walked through."""


class Neighbourhood:
    """The candidates and their neighbours: `every` lists both, ascending; place 0 of a table of them stands for nobody.

    A neighbour is named by its offset: 1 is the passage before, -1 the one after.
    """

    def __init__(self, columns: Columns, candidates: I32, offsets: Sequence[int]) -> None:
        total = len(columns.document)
        self._columns = columns
        self.candidates = candidates
        self.document = columns.document[candidates]
        here = candidates.astype(np.int64)
        numbers = {0: here} | {offset: _shifted(columns, here, offset) for offset in offsets}
        self.every: I64 = _distinct(list(numbers.values()), total)
        self._slot = np.zeros(total + 1, dtype=np.int32)
        self._slot[self.every] = np.arange(1, len(self.every) + 1)
        # The number -1 finds the slot behind the last, which stays 0.
        self.at: dict[int, I32] = {offset: self._slot[those] for offset, those in numbers.items()}

    def counts(self, postings: Postings) -> F32:
        """How often a term occurs at each place."""
        row = np.zeros(len(self.every) + 1, dtype=np.float32)
        ids = postings.ids
        if len(ids) > _FAR_MORE * len(self.every):
            found = np.minimum(np.searchsorted(ids, self.every), len(ids) - 1)
            row[1:] = np.where(ids[found] == self.every, postings.counts[found], 0)
        else:
            slots = self._slot[ids]
            hit = np.flatnonzero(slots)
            row[slots[hit]] = postings.counts[hit]
        return row

    def in_documents(self, found: Sequence[Postings]) -> F32:
        """For each candidate, which of the terms its document has anywhere."""
        documents, back = np.unique(self.document, return_inverse=True)
        begin = self._columns.first[documents]
        end = begin + self._columns.count[documents]
        present = np.zeros((len(documents), len(found)), dtype=np.float32)
        for number, postings in enumerate(found):
            present[:, number] = np.searchsorted(postings.ids, end) > np.searchsorted(postings.ids, begin)
        return present[back]


def by_document(values: F32, document: I32) -> F32:
    """For each candidate, the highest value of all that are of its document."""
    documents, back = np.unique(document, return_inverse=True)
    best = np.full(len(documents), -np.inf, dtype=np.float32)
    np.maximum.at(best, back, values)
    return best[back]


def _shifted(columns: Columns, here: I64, offset: int) -> I64:
    """The numbers of the neighbours, -1 where the document has none."""
    near = np.clip(here - offset, 0, max(len(columns.document) - 1, 0))
    is_near: Bools = (near == here - offset) & (columns.document[near] == columns.document[here])
    return np.where(is_near, near, -1)


def _distinct(numbers: Sequence[I64], total: int) -> I64:
    # Marking is quicker than sorting.
    is_named = np.zeros(total + 1, dtype=np.bool_)
    for those in numbers:
        is_named[those] = True
    return np.flatnonzero(is_named[:total])
