"""The newest documents' words, in memory and growing, until a segment takes them."""

from bisect import bisect_left
from collections.abc import Sequence
from threading import Lock

from msgspec import Struct

from limen.brain.arrays import I32, U8, np
from limen.brain.index.pieces import OF_PASSAGES, Piece
from limen.brain.index.vocabulary import Chunk
from limen.brain.index.words import Words

__all__ = ["Fresh"]


class _Found(Struct):
    """The postings of one term, as far as somebody asked for them."""

    pieces: int = 0
    rows: list[int] = []
    counts: list[int] = []


class Fresh:
    """Words of documents that are in no segment yet. It only grows: who saw less of it says how much it saw.

    A piece is only noted under each of its terms when it comes, because most terms are never asked for. One thread
    adds, any thread asks.
    """

    def __init__(self, fields: int) -> None:
        self._lock = Lock()
        self._holders: Sequence[dict[str, list[int]]] = [{} for _ in range(fields)]
        self._pieces: list[tuple[Sequence[Words], int, int]] = []
        self._found: dict[tuple[int, str], _Found] = {}

    def add(self, piece: Piece, *, passage: int, document: int) -> None:
        """The next documents, whose first passage and first document have these places among the fresh ones."""
        number = len(self._pieces)
        with self._lock:
            self._pieces.append((piece.fields, passage, document))
            for holders, words in zip(self._holders, piece.fields, strict=True):
                for term in words.terms:
                    if term in holders:
                        holders[term].append(number)
                    else:
                        holders[term] = [number]

    def find(self, field: int, term: str, upto: int) -> "tuple[I32, U8] | None":
        """The postings of a term among the first `upto` rows."""
        with self._lock:
            found = self._postings(field, term)
            end = bisect_left(found.rows, upto) if found else 0
            if found is None or end == 0:
                return None
            return np.array(found.rows[:end], dtype=np.int32), np.array(found.counts[:end], dtype=np.uint8)

    def chunk(self, field: int, upto: int, prefix: str = "") -> Chunk:
        """The terms that begin so, and in how many of the first `upto` rows each occurs."""
        with self._lock:
            terms = [term for term in self._holders[field] if term.startswith(prefix)]
            sizes = [bisect_left(found.rows, upto) if (found := self._postings(field, term)) else 0 for term in terms]
        known = [(term, size) for term, size in zip(terms, sizes, strict=True) if size]
        return Chunk.of([term for term, _ in known], np.array([size for _, size in known], dtype=np.int32))

    def _postings(self, field: int, term: str) -> _Found | None:
        holders = self._holders[field].get(term)
        if holders is None:
            return None
        found = self._found.get((field, term))
        if found is None:
            found = self._found[field, term] = _Found()
        for number in holders[found.pieces :]:
            fields, passage, document = self._pieces[number]
            postings = fields[field].find(term)
            if postings is not None:
                found.rows.extend((postings[0] + (passage if field in OF_PASSAGES else document)).tolist())
                found.counts.extend(postings[1].tolist())
        found.pieces = len(holders)
        return found
