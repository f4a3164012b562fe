"""What an index knows of each passage and document besides words, as columns that are joined, chosen from and kept."""

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

import msgspec
from msgspec import Struct

from limen.brain.arrays import I32, I64, U8, U16, U32, U64, Bools, np

__all__ = [
    "DEAD",
    "IS_QUESTION",
    "Rows",
    "choose",
    "chunks",
    "join",
    "key_of",
    "pack",
    "part",
    "slices",
    "speaker_key",
    "unpack",
]

IS_QUESTION = 1
DEAD = 2
_CHUNK = 1 << 15


class Rows(Struct, frozen=True):
    """Documents in order, and their passages in the same order."""

    document: I64
    """Its number in the index, which nothing else ever gets; ascending."""
    passage: I64
    """The number of its first passage in the index; the others follow."""
    count: I32
    day: I32
    scope: U8
    trust: U8
    project: U64
    kind: U64
    length: U16
    """From here on, one for each passage."""
    speaker: U32
    flags: U8


_KINDS = {
    "document": "<i8",
    "passage": "<i8",
    "count": "<i4",
    "day": "<i4",
    "scope": "u1",
    "trust": "u1",
    "project": "<u8",
    "kind": "<u8",
    "length": "<u2",
    "speaker": "<u4",
    "flags": "u1",
}
_OF_PASSAGES = ("length", "speaker", "flags")


def speaker_key(name: str) -> int:
    """What stands for a speaker in a column: a hash of the first name, folded; 0 for nobody."""
    first = name.split(maxsplit=1)[:1]
    return (zlib.crc32(first[0].casefold().encode()) or 1) if first else 0


@lru_cache(maxsize=4096)
def key_of(name: str) -> int:
    """What stands for a project or kind in a column, too long for two to share it; 0 for none."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") if name else 0


def join(parts: Sequence[Rows]) -> Rows:
    """One after the other; at least one."""
    return (
        parts[0]
        if len(parts) == 1
        else Rows(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in _KINDS})
    )


def choose(rows: Rows, documents: Bools) -> Rows:
    """Only these documents and their passages."""
    passages = np.repeat(documents, rows.count)
    return Rows(**{name: getattr(rows, name)[passages if name in _OF_PASSAGES else documents] for name in _KINDS})


def chunks(rows: Rows) -> Iterator[tuple[int, int]]:
    """First and last documents of parts that are small enough to be kept as one."""
    ends: list[int] = np.cumsum(rows.count).tolist()
    begin = before = 0
    while begin < len(ends):
        end = min(begin + _CHUNK, max(begin + 1, bisect_right(ends, before + _CHUNK, begin)))
        yield begin, end
        begin, before = end, ends[end - 1]


def part(rows: Rows, begin: int, end: int) -> Rows:
    """The documents from `begin` up to, not including, `end`."""
    documents = np.zeros(len(rows.document), dtype=np.bool_)
    documents[begin:end] = True
    return choose(rows, documents)


def slices(bits: U8) -> Iterator[U8]:
    """Bits of passages in parts that are small enough to be kept as one."""
    return (bits[begin : begin + _CHUNK] for begin in range(0, len(bits), _CHUNK))


def pack(rows: Rows) -> bytes:
    """As bytes to keep."""
    return msgspec.msgpack.encode([getattr(rows, name).tobytes() for name in _KINDS])


def unpack(data: bytes | memoryview) -> Rows:
    """What `pack` kept.

    Raises:
        ValueError: these are no such bytes.
    """
    columns = msgspec.msgpack.decode(data, type=list[bytes])
    rows = Rows(*(np.frombuffer(column, dtype=kind) for column, kind in zip(columns, _KINDS.values(), strict=True)))
    if int(rows.count.sum()) != len(rows.flags) or len({len(rows.document), len(rows.count), len(rows.kind)}) != 1:
        raise ValueError("the columns do not add up")
    return rows
