"""The terms of an index without their postings: those that begin alike, those meant by a mistyped one; pure."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from limen.brain.arrays import I32, U8, U32, np

__all__ = ["CHUNK_TERMS", "Chunk", "errors_allowed", "most_similar", "pack_chunk", "unpack_chunk"]

CHUNK_TERMS = 4096
_MOST_ERRORS = 2
_SHORT = 4
"""A word up to this length may hold one error only: with two it could be any other."""
_LONGEST = 255
_OTHER_BIT = 27


class Chunk(Struct, frozen=True):
    """Neighbouring terms, in how many rows each occurs, and what makes a quick comparison of spellings possible."""

    terms: Sequence[str]
    sizes: I32
    letters: U32
    """Which letters a term has, as bits."""
    lengths: U8

    @staticmethod
    def of(terms: Sequence[str], sizes: I32) -> "Chunk":
        """A chunk of these terms."""
        return Chunk(terms, sizes, *_shapes(terms))

    def beginning(self, prefix: str) -> Iterator[tuple[str, int]]:
        """The terms that begin so, with their sizes."""
        for term, size in zip(self.terms, self.sizes.tolist(), strict=True):
            if term.startswith(prefix):
                yield term, size

    def resembling(self, term: str) -> Iterator[tuple[str, int]]:
        """Terms that may be within the errors allowed, with their sizes; all others are not."""
        most = errors_allowed(term)
        (letters,), (length,) = _shapes([term])
        # An error changes at most two letters: one that goes and one that comes.
        near = np.bitwise_count(self.letters ^ letters) <= 2 * most
        near &= np.abs(self.lengths.astype(np.int16) - np.int16(length)) <= most
        for place in np.flatnonzero(near).tolist():
            yield self.terms[place], int(self.sizes[place])


class _Packed(Struct, frozen=True, array_like=True):
    terms: list[str]
    sizes: bytes
    letters: bytes
    lengths: bytes


def pack_chunk(chunk: Chunk) -> bytes:
    """As bytes to keep."""
    found = chunk.sizes.tobytes(), chunk.letters.tobytes(), chunk.lengths.tobytes()
    return msgspec.msgpack.encode(_Packed(list(chunk.terms), *found))


def unpack_chunk(data: bytes | memoryview) -> Chunk:
    """What `pack_chunk` kept."""
    packed = msgspec.msgpack.decode(data, type=_Packed)
    return Chunk(
        packed.terms,
        np.frombuffer(packed.sizes, dtype=np.int32),
        np.frombuffer(packed.letters, dtype=np.uint32),
        np.frombuffer(packed.lengths, dtype=np.uint8),
    )


def errors_allowed(term: str) -> int:
    """How many typing errors this term may hold."""
    return 1 if len(term) <= _SHORT else _MOST_ERRORS


def most_similar(term: str, known: Mapping[str, int], limit: int) -> Sequence[str]:
    """Which of the known terms were probably meant, the nearest and then the most frequent first."""
    most = errors_allowed(term)
    found = [(_errors_between(term, other, most), -size, other) for other, size in known.items() if other != term]
    return [other for errors, _, other in sorted(found) if errors <= most][:limit]


def _errors_between(one: str, other: str, most: int) -> int:
    """How many letters to insert, leave out, change or swap with the next; `most + 1` stands for more."""
    far = most + 1
    before: list[int] = []
    row = [min(column, far) for column in range(len(other) + 1)]
    for place, letter in enumerate(one, start=1):
        # Further from the diagonal there are more errors than are allowed.
        first, last = max(1, place - most), min(len(other), place + most)
        older, before, row = before, row, [far] * (len(other) + 1)
        row[0] = min(place, far)
        for column in range(first, last + 1):
            against = other[column - 1]
            cost = min(before[column] + 1, row[column - 1] + 1, before[column - 1] + (letter != against))
            if place > 1 and column > 1 and letter == other[column - 2] and one[place - 2] == against:
                cost = min(cost, older[column - 2] + 1)
            row[column] = cost
        if min(row) > most:
            return far
    return min(row[-1], far)


def _shapes(terms: Sequence[str]) -> tuple[U32, U8]:
    lengths = np.fromiter((min(len(term), _LONGEST) for term in terms), dtype=np.uint8, count=len(terms))
    encoded = [term.encode() for term in terms]
    sizes = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    letters = np.zeros(len(terms), dtype=np.uint32)
    filled = np.flatnonzero(sizes)
    if len(filled):
        bits = _bit_of_byte()[np.frombuffer(b"".join(encoded), dtype=np.uint8)]
        letters[filled] = np.bitwise_or.reduceat(bits, (np.cumsum(sizes) - sizes)[filled])
    return letters, lengths


def _bit_of_byte() -> U32:
    """A bit for each small letter, one for all digits, and one for everything else."""
    places = np.full(256, _OTHER_BIT, dtype=np.uint32)
    places[ord("a") : ord("z") + 1] = np.arange(26)
    places[ord("0") : ord("9") + 1] = 26
    return np.uint32(1) << places
