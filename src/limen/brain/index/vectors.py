"""Vectors small enough to keep by the million: bytes to compare exactly, sign bits to scan; pure, no storage."""

from limen.brain.arrays import F32, I8, I64, U8, U16, U64, Bools, np

__all__ = ["bits_of", "distances", "nearest_places", "quantised", "sign_bits", "unit", "words_of_bits"]

_MOST = 127
_BLOCK = 1 << 15
_SAMPLED = 4096
_FEW = 4
_BITS_OF_BYTE = 256


def quantised(vectors: F32) -> I8:
    """Each row in bytes; its length is lost, which a cosine does not need."""
    most = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    return np.rint(vectors * (_MOST / np.where(most > 0, most, 1))).astype(np.int8)


def unit(rows: I8) -> F32:
    """What `quantised` kept, as rows of length 1; zeros stay zeros."""
    vectors = rows.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    return vectors / lengths[:, None]


def sign_bits(vectors: "F32 | I8") -> U8:
    """One bit for each dimension, the rows filled up to whole words of 64."""
    bits = np.packbits(vectors > 0, axis=1, bitorder="little")
    missing = -bits.shape[1] % 8
    return np.pad(bits, ((0, 0), (0, missing))) if missing else bits


def bits_of(data: bytes | None, rows: int) -> "U8 | None":
    """Sign bits that were kept as bytes; None when there are none."""
    return np.frombuffer(data, dtype=np.uint8).reshape(rows, -1) if data and rows else None


def words_of_bits(bits: U8) -> U64:
    """The same bits word by word: one row for each 64 dimensions, which is quicker to scan."""
    return np.ascontiguousarray(bits).view(np.uint64).T


def distances(board: U64, wanted: U64) -> "U8 | U16":
    """In how many bits each column of `board` differs from what is wanted."""
    # 256 differing bits would be counted as 0 in a byte; the exact comparison that follows sorts that out.
    count: int = board.shape[1]
    is_wide = len(board) * 64 > _BITS_OF_BYTE
    into: U8 | U16 = np.zeros(count, dtype=np.uint16) if is_wide else np.zeros(count, dtype=np.uint8)
    differing = np.empty(_BLOCK, dtype=np.uint64)
    counts = np.empty(_BLOCK, dtype=np.uint8)
    for begin in range(0, len(into), _BLOCK):
        part = into[begin : begin + _BLOCK]
        size = len(part)
        for row, word in zip(board, wanted, strict=True):
            np.bitwise_xor(row[begin : begin + size], word, out=differing[:size])
            part += np.bitwise_count(differing[:size], out=counts[:size])
    return into


def nearest_places(found: "U8 | U16", limit: int, usable: "Bools | None" = None) -> I64:
    """The places of the smallest distances that are usable, so many of them and in no order; `found` is used up."""
    if usable is None:
        return _smallest(found, limit)
    count = int(np.count_nonzero(usable))
    if count * _FEW < len(found) or count <= limit:
        places = np.flatnonzero(usable)
        return places[_smallest(found[places], limit)]
    found[~usable] = np.iinfo(found.dtype).max
    places = _smallest(found, limit)
    return places[usable[places]]


def _smallest(found: "U8 | U16", limit: int) -> I64:
    if len(found) <= limit:
        return np.arange(len(found))
    step = max(1, len(found) // _SAMPLED)
    sample = np.sort(found[::step])
    # Guessed from a sample, because sorting a million distances costs more than finding them.
    guess = limit * 3 // 2 * len(sample) // len(found) + 2
    places = np.flatnonzero(found <= sample[min(guess, len(sample) - 1)])
    if len(places) < limit:
        return np.argpartition(found, limit)[:limit]
    return places[np.argpartition(found[places], limit - 1)[:limit]]
