"""Words and where they occur, as sorted arrays: gathered from texts, merged, cut into blocks; pure, no storage."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from limen.brain.arrays import I32, I64, U8, np

__all__ = ["Words", "cut", "gather", "merge", "pack", "unpack"]

_BLOCK_POSTINGS = 1500
_BLOCK_TERMS = 128
_MOST_COUNTED = 255
_FEW = 80


class Words(Struct, frozen=True):
    """Terms in ascending order and, one after another, their postings: ascending rows and how often in each."""

    terms: Sequence[str]
    sizes: I32
    """How many postings each term has."""
    rows: I32
    counts: U8

    def part(self, first: int, last: int) -> "Words":
        """The terms from `first` up to, not including, `last`."""
        if first == 0 and last == len(self.terms):
            return self
        ends = np.cumsum(self.sizes)
        begin = int(ends[first - 1]) if first else 0
        end = int(ends[last - 1]) if last else 0
        return Words(self.terms[first:last], self.sizes[first:last], self.rows[begin:end], self.counts[begin:end])

    def find(self, term: str) -> "tuple[I32, U8] | None":
        """The postings of a term."""
        place = bisect_left(self.terms, term)
        if place == len(self.terms) or self.terms[place] != term:
            return None
        begin = int(self.sizes[:place].sum())
        end = begin + int(self.sizes[place])
        return self.rows[begin:end], self.counts[begin:end]

    def upto(self, term: str) -> int:
        """How many of its terms are not after this one."""
        return bisect_right(self.terms, term)


class _Packed(Struct, frozen=True, array_like=True):
    terms: list[str]
    sizes: bytes
    rows: bytes
    counts: bytes


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Packed)


class _Numbers(dict[str, int]):
    def __missing__(self, term: str) -> int:
        self[term] = number = len(self)
        return number


def gather(texts: Sequence[Sequence[str]]) -> Words:
    """The words of texts given as their terms; a text's place is its row."""
    return _gather_many(texts) if sum(map(len, texts)) > _FEW else _gather_few(texts)


def _gather_few(texts: Sequence[Sequence[str]]) -> Words:
    # Arrays have a cost of their own, which a single document need not pay.
    found: dict[str, tuple[list[int], list[int]]] = {}
    for row, text in enumerate(texts):
        for term, count in Counter(text).items():
            postings = found.get(term)
            if postings is None:
                postings = found[term] = ([], [])
            postings[0].append(row)
            postings[1].append(min(count, _MOST_COUNTED))
    terms = sorted(found)
    lists = [found[term] for term in terms]
    return Words(
        terms,
        np.array([len(rows) for rows, _ in lists], dtype=np.int32),
        np.array([row for rows, _ in lists for row in rows], dtype=np.int32),
        np.array([count for _, counts in lists for count in counts], dtype=np.uint8),
    )


def _gather_many(texts: Sequence[Sequence[str]]) -> Words:
    numbers = _Numbers()
    flat: list[int] = []
    lengths: list[int] = []
    for terms in texts:
        flat.extend(map(numbers.__getitem__, terms))
        lengths.append(len(terms))
    terms = sorted(numbers)
    ranks = np.empty(len(terms), dtype=np.int64)
    ranks[[numbers[term] for term in terms]] = np.arange(len(terms))
    width = max(len(texts), 1)
    rows = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
    pairs, counts = np.unique(ranks[flat] * width + rows, return_counts=True)
    return Words(
        terms,
        np.bincount(pairs // width, minlength=len(terms)).astype(np.int32),
        (pairs % width).astype(np.int32),
        np.minimum(counts, _MOST_COUNTED).astype(np.uint8),
    )


def merge(parts: "Sequence[tuple[Words, I32]]") -> Words:
    """One out of many, each with the new number of each of its rows, or -1 for a row that is dropped.

    The new numbers of a part are ascending and all greater than those of the parts before it.
    """
    terms = sorted({term for words, _ in parts for term in words.terms})
    numbers = {term: number for number, term in enumerate(terms)}
    keys: list[I64] = []
    rows: list[I32] = []
    counts: list[U8] = []
    for words, renumbered in parts:
        places = np.fromiter(map(numbers.__getitem__, words.terms), dtype=np.int64, count=len(words.terms))
        key, row, count = np.repeat(places, words.sizes), renumbered[words.rows], words.counts
        if len(row) and row.min() < 0:
            kept = row >= 0
            key, row, count = key[kept], row[kept], count[kept]
        keys.append(key)
        rows.append(row)
        counts.append(count)
    return _joined(terms, keys, rows, counts)


def _joined(terms: list[str], keys: "list[I64]", rows: "list[I32]", counts: "list[U8]") -> Words:
    if not keys:
        return gather(())
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    sizes = np.bincount(key, minlength=len(terms)).astype(np.int32)
    used = np.flatnonzero(sizes)
    return Words(
        terms if len(used) == len(terms) else [terms[number] for number in used.tolist()],
        sizes[used],
        np.concatenate(rows)[order],
        np.concatenate(counts)[order],
    )


def cut(words: Words) -> Iterator[Words]:
    """The same in blocks small enough to be read for one term; a frequent term has one of its own."""
    ends: list[int] = np.cumsum(words.sizes).tolist()
    first = begin = 0
    while first < len(ends):
        last = max(first + 1, min(bisect_right(ends, begin + _BLOCK_POSTINGS, first), first + _BLOCK_TERMS))
        end = ends[last - 1]
        yield Words(words.terms[first:last], words.sizes[first:last], words.rows[begin:end], words.counts[begin:end])
        first, begin = last, end


def pack(words: Words) -> bytes:
    """As bytes to keep."""
    terms = words.terms if isinstance(words.terms, list) else list(words.terms)
    return _encoder.encode(_Packed(terms, words.sizes.tobytes(), words.rows.tobytes(), words.counts.tobytes()))


def unpack(data: bytes | memoryview) -> Words:
    """What `pack` kept.

    Raises:
        ValueError: these are no such bytes.
    """
    packed = _decoder.decode(data)
    words = Words(
        packed.terms,
        np.frombuffer(packed.sizes, dtype=np.int32),
        np.frombuffer(packed.rows, dtype=np.int32),
        np.frombuffer(packed.counts, dtype=np.uint8),
    )
    if len(words.sizes) != len(words.terms) or not (len(words.rows) == len(words.counts) == int(words.sizes.sum())):
        raise ValueError("a block of words does not add up")
    return words
