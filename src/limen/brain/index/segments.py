"""Immutable segments in the database: how one is written, and how its parts are read; knows nothing of views."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from limen.brain.arrays import I32, U8, np
from limen.brain.index import columns, indexsql, words
from limen.brain.index.columns import Rows
from limen.brain.index.pieces import Piece
from limen.brain.index.sealing import open_sealed, open_value, seal, seal_value
from limen.brain.index.vectors import bits_of
from limen.brain.index.vocabulary import CHUNK_TERMS, Chunk, pack_chunk, unpack_chunk
from limen.brain.index.words import Words
from limen.db.sqlite import Connection

__all__ = [
    "Segment",
    "SegmentWriter",
    "Stretch",
    "block_of",
    "chunks_of",
    "list_segments",
    "parts_of",
    "read_bits",
    "read_block",
    "read_rows",
    "write_segment",
]

_ROOM = 24
"""A segment has the ids from `id << 24` on, in each table, for its parts."""


class Stretch(Struct, frozen=True, array_like=True):
    """The blocks of one field: the place of the first, and the first term of each."""

    first: int
    terms: list[str]
    alone: list[int] = []
    """The places of blocks with one term only, ascending: they may be huge, and need not be read for other terms."""


class Segment(Struct, frozen=True, array_like=True):
    """What is known of a segment without reading its parts."""

    id: int
    first: int
    last: int
    documents: int
    passages: int
    rows: list[int]
    """The parts that hold its columns."""
    fields: list[Stretch]
    vocabularies: list[Stretch]
    """The terms of each field once more, without their postings."""
    epoch: int
    """The epoch of its sign bits, 0 when it has none."""


_segments = msgspec.msgpack.Decoder(Segment)


class PartRange(NamedTuple):
    """The ids of the parts of a segment, in each table."""

    begin: int
    end: int


def parts_of(segment_id: int) -> PartRange:
    """Where the parts of a segment are."""
    return PartRange(segment_id << _ROOM, (segment_id + 1) << _ROOM)


class SegmentWriter:
    """Writes one segment part by part; nobody sees it before `finish`. The caller frames the transactions."""

    def __init__(self, db: Connection, segment_id: int) -> None:
        self.id = segment_id
        self._db = db
        self._next = self._next_bits = segment_id << _ROOM
        self._rows: list[int] = []
        self._fields: list[Stretch] = []
        self._vocabularies: list[Stretch] = []
        self._next_chunk = self._next + (1 << _ROOM - 1)
        self._terms: list[str] = []
        self._sizes: list[I32] = []
        self._first = self._last = -1
        self._documents = self._passages = 0

    @property
    def is_empty(self) -> bool:
        """Whether it has no document, and so will not be seen."""
        return not self._documents

    def add_rows(self, rows: Rows) -> None:
        """The columns of the next documents."""
        self._rows.append(self._next)
        self._add(columns.pack(rows))
        if self._first < 0:
            self._first = int(rows.document[0])
        self._last = int(rows.document[-1])
        self._documents += len(rows.document)
        self._passages += len(rows.flags)

    def begin_field(self) -> None:
        """The words that follow are of the next field."""
        self._end_chunk()
        self._fields.append(Stretch(self._next, [], []))
        self._vocabularies.append(Stretch(self._next_chunk, [], []))

    def add_block(self, block: Words) -> None:
        """The next words of the field, after all before them."""
        stretch = self._fields[-1]
        if len(block.terms) == 1:
            stretch.alone.append(len(stretch.terms))
        stretch.terms.append(block.terms[0])
        self._add(words.pack(block))
        self._terms.extend(block.terms)
        self._sizes.append(block.sizes)
        if len(self._terms) >= CHUNK_TERMS:
            self._end_chunk()

    def add_bits(self, bits: U8) -> None:
        """The sign bits of the next passages."""
        self._db.execute(indexsql.ADD_BITS, (self._next_bits, seal(self._next_bits, bits.tobytes())))
        self._next_bits += 1

    def finish(self, epoch: int) -> None:
        """Show it, unless it is empty; `epoch` is that of its bits, 0 when it got none."""
        if self.is_empty:
            return
        self._end_chunk()
        segment = Segment(
            id=self.id,
            first=self._first,
            last=self._last,
            documents=self._documents,
            passages=self._passages,
            rows=self._rows,
            fields=self._fields,
            vocabularies=self._vocabularies,
            epoch=epoch,
        )
        write_segment(self._db, segment)

    def write(self, piece: Piece, epoch: int) -> None:
        """All of it at once."""
        for begin, end in columns.chunks(piece.rows):
            self.add_rows(columns.part(piece.rows, begin, end))
        for field in piece.fields:
            self.begin_field()
            for block in words.cut(field):
                self.add_block(block)
        if piece.bits is not None:
            for part in columns.slices(piece.bits):
                self.add_bits(part)
        self.finish(epoch if piece.bits is not None or not len(piece.rows.flags) else 0)

    def _end_chunk(self) -> None:
        if self._terms:
            self._vocabularies[-1].terms.append(self._terms[0])
            chunk = pack_chunk(Chunk.of(self._terms, np.concatenate(self._sizes)))
            self._db.execute(indexsql.ADD_BLOCK, (self._next_chunk, seal(self._next_chunk, chunk)))
            self._next_chunk += 1
            self._terms, self._sizes = [], []

    def _add(self, data: bytes) -> None:
        self._db.execute(indexsql.ADD_BLOCK, (self._next, seal(self._next, data)))
        self._next += 1


def write_segment(db: Connection, segment: Segment) -> None:
    """Show a segment, or show it with other facts."""
    db.execute(indexsql.ADD_SEGMENT, (segment.id, seal_value(segment.id, segment)))


def list_segments(db: Connection) -> Sequence[Segment]:
    """All there are, in the order of their documents."""
    found = [open_value(number, kept, _segments) for number, kept in db.execute(indexsql.SEGMENTS)]
    return sorted(found, key=lambda segment: segment.first)


def read_rows(db: Connection, segment: Segment) -> Rows:
    """Its columns."""
    return columns.join([columns.unpack(_read(db, part)) for part in segment.rows])


def read_bits(db: Connection, segment: Segment) -> "U8 | None":
    """The sign bits of its passages, when it has them."""
    if not segment.epoch:
        return None
    data = b"".join(open_sealed(part, kept) for part, kept in db.execute(indexsql.BITS, parts_of(segment.id)))
    return bits_of(data, segment.passages)


def block_of(stretch: Stretch, term: str) -> int | None:
    """The block that holds a term, if any does."""
    place = bisect_right(stretch.terms, term) - 1
    if place < 0 or (stretch.terms[place] != term and _is_alone(stretch, place)):
        return None
    return stretch.first + place


def _is_alone(stretch: Stretch, place: int) -> bool:
    at = bisect_left(stretch.alone, place)
    return at < len(stretch.alone) and stretch.alone[at] == place


def read_block(db: Connection, block: int) -> Words:
    """The words of a block."""
    return words.unpack(_read(db, block))


def chunks_of(db: Connection, stretch: Stretch, prefix: str = "") -> Iterator[Chunk]:
    """The chunks of a vocabulary that may hold terms with this prefix."""
    begin = max(0, bisect_right(stretch.terms, prefix) - 1)
    for place in range(begin, len(stretch.terms)):
        first = stretch.terms[place]
        if place > begin and first > prefix and not first.startswith(prefix):
            return
        yield unpack_chunk(_read(db, stretch.first + place))


def _read(db: Connection, part: int) -> memoryview:
    row = db.execute(indexsql.BLOCK, (part,)).fetchone()
    if row is None:
        raise ValueError("a part of a segment is missing")
    return open_sealed(part, row[0])
