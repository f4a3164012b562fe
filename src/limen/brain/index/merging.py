"""Makes one piece out of several, without the documents that are dead; pure, no storage."""

from collections.abc import Sequence, Set
from itertools import accumulate

from limen.brain.arrays import I32, U8, Bools, np
from limen.brain.index import columns
from limen.brain.index.columns import Rows
from limen.brain.index.pieces import OF_PASSAGES, PLACE, Piece
from limen.brain.index.words import merge

__all__ = ["alive", "join_pieces", "new_numbers"]


def alive(rows: Rows, dead: Set[int]) -> Bools:
    """Which of these documents are not dead."""
    if not dead:
        return np.ones(len(rows.document), dtype=np.bool_)
    return ~np.isin(rows.document, np.fromiter(dead, dtype=np.int64, count=len(dead)))


def join_pieces(pieces: Sequence[Piece], dead: Set[int]) -> Piece | None:
    """One piece without the dead; None when nothing is left. It has bits when all of them have."""
    if len(pieces) == 1 and not dead:
        return pieces[0]
    documents: list[Bools] = [alive(piece.rows, dead) for piece in pieces]
    passages: list[Bools] = [np.repeat(kept, piece.rows.count) for kept, piece in zip(documents, pieces, strict=True)]
    rows = columns.join([columns.choose(piece.rows, kept) for piece, kept in zip(pieces, documents, strict=True)])
    if not len(rows.document):
        return None
    numbers = (new_numbers(documents), new_numbers(passages))
    fields = [
        merge([(piece.fields[field], new) for piece, new in zip(pieces, numbers[field in OF_PASSAGES], strict=True)])
        for field in range(PLACE + 1)
    ]
    return Piece(rows, fields, bits=_bits(pieces, passages))


def new_numbers(parts: Sequence[Bools]) -> Sequence[I32]:
    """The new number of each row of each part when only these are kept; -1 for the others."""
    begins = accumulate((int(kept.sum()) for kept in parts), initial=0)
    return [
        np.where(kept, np.cumsum(kept, dtype=np.int32) + np.int32(begin - 1), np.int32(-1))
        for kept, begin in zip(parts, begins, strict=False)
    ]


def _bits(pieces: Sequence[Piece], passages: Sequence[Bools]) -> "U8 | None":
    found: list[U8] = []
    for piece, kept in zip(pieces, passages, strict=True):
        if not len(kept):
            continue
        if piece.bits is None:
            return None
        found.append(piece.bits[kept])
    return np.concatenate(found) if found else None
