"""Candidate passages with those before and after them in their documents, as places of one small table; pure."""

from collections.abc import Sequence

from limen.brain.arrays import F32, I32, I64, np
from limen.brain.index.ports import Columns, Postings

__all__ = ["Neighbourhood", "by_document"]


class Neighbourhood:
    """The candidates and their neighbours: `every` lists both, ascending; place 0 of a table of them stands for nobody.

    The candidates ascend. A neighbour is named by its offset: 1 is the passage before, -1 the one after. Neighbours
    have neighbouring places.
    """

    def __init__(self, columns: Columns, candidates: I32, offsets: Sequence[int]) -> None:
        self._columns = columns
        self.candidates = candidates
        self.document = columns.document[candidates]
        here, reach = candidates.astype(np.int64), max(map(abs, offsets))
        begin = columns.first[self.document].astype(np.int64)
        end = begin + columns.count[self.document]
        first = np.maximum(here - reach, begin)
        last = np.minimum(here + reach, end - 1)
        # What the candidate before has brought in is not brought in again.
        new = np.maximum(first, np.concatenate(([0], last[:-1] + 1)))
        upto = np.cumsum(last + 1 - new)
        self.every: I64 = _counted_up(new, last + 1 - new)
        self._run, self._slot = _runs(self.every)
        # Of each candidate, how far its number is from its place.
        shift = upto - last
        self.at: dict[int, I64] = {0: here + shift}
        for offset in offsets:
            near = here - offset
            self.at[offset] = np.where((near >= begin) & (near < end), near + shift, 0)

    def counts(self, postings: Postings) -> F32:
        """How often a term occurs at each place."""
        row = np.zeros(len(self.every) + 1, dtype=np.float32)
        ids = postings.ids
        if not len(ids) or not len(self.every):
            return row
        if len(ids) < len(self._run):
            places = np.minimum(np.searchsorted(self.every, ids), len(self.every) - 1)
            held = np.flatnonzero(self.every[places] == ids)
            row[places[held] + 1] = postings.counts[held]
            return row
        begins = np.searchsorted(ids, self._run)
        sizes = np.searchsorted(ids, self._run + np.diff(self._slot)) - begins
        held = _counted_up(begins, sizes)
        row[ids[held] + np.repeat(self._slot[:-1] - self._run, sizes)] = postings.counts[held]
        return row

    def in_documents(self, found: Sequence[Postings]) -> F32:
        """For each candidate, how many passages of its document have each of the terms."""
        starts, back = _groups(self.document)
        documents = self.document[starts]
        begin = self._columns.first[documents]
        end = begin + self._columns.count[documents]
        having = np.zeros((len(documents), len(found)), dtype=np.float32)
        for number, postings in enumerate(found):
            having[:, number] = np.searchsorted(postings.ids, end) - np.searchsorted(postings.ids, begin)
        return having[back]


def by_document(values: F32, document: I32) -> F32:
    """For each candidate, the highest value of all that are of its document; documents ascend."""
    if not len(values):
        return values
    starts, back = _groups(document)
    found: F32 = np.maximum.reduceat(values, starts)
    return found[back]


def _groups(ascending: I32) -> tuple[I64, I64]:
    """Where each value begins, and for each place the number of its value."""
    is_new = np.ones(len(ascending), dtype=np.bool_)
    is_new[1:] = ascending[1:] != ascending[:-1]
    return np.flatnonzero(is_new), np.cumsum(is_new) - 1


def _runs(ascending: I64) -> tuple[I64, I64]:
    """The first number of each run without a gap, and the place of each, counted from 1, with one behind the last."""
    is_new = np.ones(len(ascending), dtype=np.bool_)
    is_new[1:] = ascending[1:] != ascending[:-1] + 1
    starts = np.flatnonzero(is_new)
    return ascending[starts], np.append(starts, len(ascending)) + 1


def _counted_up(begins: I64, sizes: I64) -> I64:
    """From each beginning on, so many numbers."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(begins - (ends - sizes), sizes) + np.arange(total)
