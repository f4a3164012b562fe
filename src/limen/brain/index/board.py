"""The columns of everything a view numbers, in memory; they grow, and who took a slice of them keeps what it saw."""

from limen.brain.arrays import I32, I64, U8, U16, U32, U64, Bools, np
from limen.brain.index.columns import Rows
from limen.brain.index.vectors import words_of_bits

__all__ = ["Board"]

_SPARE = 2048
_OF_PASSAGES = ("owner", "length", "speaker", "flags", "has_vector")
_OF_DOCUMENTS = ("number", "passage", "first", "count", "day", "scope", "trust", "project", "kind")


class Board:
    """Growing columns. Only one thread appends; what was appended never changes."""

    owner: I32
    """Of each passage: the place of its document."""
    length: U16
    speaker: U32
    flags: U8
    has_vector: Bools
    number: I64
    """Of each document from here on."""
    passage: I64
    first: I32
    count: I32
    day: I32
    scope: U8
    trust: U8
    project: U64
    kind: U64

    def __init__(self, *, words: int, passages: int, documents: int) -> None:
        self.passages = 0
        self.documents = 0
        room, places = passages + _SPARE, documents + _SPARE
        self.bits: U64 = np.zeros((words, room), dtype=np.uint64)
        self.owner = np.zeros(room, dtype=np.int32)
        self.length = np.zeros(room, dtype=np.uint16)
        self.speaker = np.zeros(room, dtype=np.uint32)
        self.flags = np.zeros(room, dtype=np.uint8)
        self.has_vector = np.zeros(room, dtype=np.bool_)
        self.number = np.zeros(places, dtype=np.int64)
        self.passage = np.zeros(places, dtype=np.int64)
        self.first = np.zeros(places, dtype=np.int32)
        self.count = np.zeros(places, dtype=np.int32)
        self.day = np.zeros(places, dtype=np.int32)
        self.scope = np.zeros(places, dtype=np.uint8)
        self.trust = np.zeros(places, dtype=np.uint8)
        self.project = np.zeros(places, dtype=np.uint64)
        self.kind = np.zeros(places, dtype=np.uint64)

    def begin_with(self, other: "Board", *, passages: int, documents: int) -> None:
        """Take over the first of another board; this one is empty."""
        for name in _OF_PASSAGES:
            getattr(self, name)[:passages] = getattr(other, name)[:passages]
        for name in _OF_DOCUMENTS:
            getattr(self, name)[:documents] = getattr(other, name)[:documents]
        self.bits[:, :passages] = other.bits[:, :passages]
        self.passages, self.documents = passages, documents

    def append(self, rows: Rows, bits: "U8 | None") -> None:
        """The next documents, with the sign bits of their passages as far as there are any."""
        begin, end = self.passages, self.passages + len(rows.flags)
        first, last = self.documents, self.documents + len(rows.document)
        self._make_room(end, last)
        self.owner[begin:end] = np.repeat(np.arange(first, last, dtype=np.int32), rows.count)
        for name in ("length", "speaker", "flags"):
            getattr(self, name)[begin:end] = getattr(rows, name)
        for name in ("passage", "count", "day", "scope", "trust", "project", "kind"):
            getattr(self, name)[first:last] = getattr(rows, name)
        self.number[first:last] = rows.document
        self.first[first:last] = begin + np.cumsum(rows.count) - rows.count
        if bits is not None and len(bits) and bits.shape[1] == len(self.bits) * 8:
            self.bits[:, begin:end] = words_of_bits(bits)
            self.has_vector[begin:end] = True
        self.passages, self.documents = end, last

    def _make_room(self, passages: int, documents: int) -> None:
        # Grown into new arrays: whoever holds slices of the old ones keeps them.
        if passages > len(self.flags):
            room = passages + passages // 8 + _SPARE
            for name in _OF_PASSAGES:
                setattr(self, name, _longer(getattr(self, name), room))
            bits = np.zeros((len(self.bits), room), dtype=np.uint64)
            bits[:, : self.passages] = self.bits[:, : self.passages]
            self.bits = bits
        if documents > len(self.number):
            room = documents + documents // 8 + _SPARE
            for name in _OF_DOCUMENTS:
                setattr(self, name, _longer(getattr(self, name), room))


def _longer(column: I64, room: int) -> I64:
    longer = np.zeros(room, dtype=column.dtype)
    longer[: len(column)] = column
    return longer
