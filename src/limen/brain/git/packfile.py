"""One pack of git objects in memory, and its index: begun empty or from a pack that is to grow; touches no disk."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha1
from typing import NamedTuple, Self

from limen.brain.git.objects import Kind

__all__ = ["Pack", "PackUnreadable", "Sealed", "join"]

_KINDS: dict[Kind, int] = {"commit": 1, "tree": 2, "blob": 3}
_OFFSET_DELTA = 6
_HEADER = struct.Struct(">4sLL")
_INDEX_MAGIC = b"\xfftOc\0\0\0\2"
_SUM = 20
# Folders are mostly hashes: more effort costs twice the time for three parts in a hundred of the size.
_LEVELS: dict[Kind, int] = {"commit": 6, "tree": 1, "blob": 6}


class PackUnreadable(Exception):
    """Bytes that are no pack of ours, or no index of it."""


class _Row(NamedTuple):
    oid: bytes
    crc: int
    offset: int


class Sealed(NamedTuple):
    """A pack as it goes to disk."""

    name: str
    pack: bytes
    idx: bytes


class Pack:
    """Objects one behind the other; a later one may be told by an earlier one."""

    __slots__ = ("_body", "_rows", "offsets")

    def __init__(self) -> None:
        self._body = bytearray(_HEADER.size)
        self._rows: list[_Row] = []
        self.offsets: dict[bytes, int] = {}

    @classmethod
    def resume(cls, pack: bytes, index: bytes) -> Self:
        """Go on with a pack that was written before.

        Raises:
            PackUnreadable: the bytes do not belong together.
        """
        resumed = cls()
        resumed.take_over(pack, index)
        return resumed

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """Bytes so far."""
        return len(self._body)

    def add(self, kind: Kind, oid: bytes, data: bytes) -> int:
        """Put a whole object at the end; returns its offset."""
        return self._append(oid, _entry_header(_KINDS[kind], len(data)) + zlib.compress(data, _LEVELS[kind]))

    def add_delta(self, oid: bytes, base_offset: int, delta: bytes) -> int:
        """Put an object at the end that is told by an earlier one; returns its offset."""
        distance = _distance(self.size - base_offset)
        return self._append(oid, _entry_header(_OFFSET_DELTA, len(delta)) + distance + zlib.compress(delta))

    def depth(self, offset: int) -> int:
        """How many others must be read to read the object that begins here."""
        depth = 0
        while self._body[offset] >> 4 & 7 == _OFFSET_DELTA:
            at = offset
            while self._body[at] & 128:
                at += 1
            offset -= _read_distance(self._body, at + 1)
            depth += 1
        return depth

    def seal(self) -> Sealed:
        """The pack and its index as they are now; more may be added afterwards."""
        _HEADER.pack_into(self._body, 0, b"PACK", 2, len(self._rows))
        pack_sum = sha1(self._body, usedforsecurity=False).digest()
        return Sealed(f"pack-{pack_sum.hex()}", bytes(self._body) + pack_sum, _index_bytes(self._rows, pack_sum))

    def take_over(self, pack: bytes, index: bytes) -> None:
        """Append all objects of another pack, byte for byte: distances inside it stay true.

        Raises:
            PackUnreadable: it holds an object that is here already, or is none of our packs.
        """
        _check_pair(pack, index)
        shift = self.size - _HEADER.size
        rows = [row._replace(offset=row.offset + shift) for row in _read_index(index)]
        if any(row.oid in self.offsets for row in rows):
            raise PackUnreadable("two packs hold the same object")
        self._rows += rows
        self.offsets |= {row.oid: row.offset for row in rows}
        self._body += pack[_HEADER.size : -_SUM]

    def _append(self, oid: bytes, entry: bytes) -> int:
        offset = self.size
        self._body += entry
        self._rows.append(_Row(oid, zlib.crc32(entry), offset))
        self.offsets[oid] = offset
        return offset


def join(packs: Sequence[tuple[bytes, bytes]]) -> Sealed:
    """Make one pack of several, given as pack and index.

    Raises:
        PackUnreadable: two of them hold the same object, or one is none of ours.
    """
    joined = Pack()
    for pack, index in packs:
        joined.take_over(pack, index)
    return joined.seal()


def _check_pair(pack: bytes, index: bytes) -> None:
    if len(pack) < _HEADER.size + _SUM or pack[-_SUM:] != index[-2 * _SUM : -_SUM]:
        raise PackUnreadable("pack and index do not belong together")
    if sha1(memoryview(pack)[:-_SUM], usedforsecurity=False).digest() != pack[-_SUM:]:
        raise PackUnreadable("the pack is damaged")


def _entry_header(kind: int, size: int) -> bytes:
    out = bytearray()
    byte = kind << 4 | size & 15
    size >>= 4
    while size:
        out.append(byte | 128)
        byte = size & 127
        size >>= 7
    out.append(byte)
    return bytes(out)


def _distance(number: int) -> bytes:
    # Big-endian groups of seven bits, where each continuation also adds one: no number has two spellings.
    out = [number & 127]
    number >>= 7
    while number:
        number -= 1
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(reversed(out))


def _read_distance(body: bytearray, at: int) -> int:
    number = body[at] & 127
    while body[at] & 128:
        at += 1
        number = (number + 1 << 7) | body[at] & 127
    return number


def _index_bytes(rows: Sequence[_Row], pack_sum: bytes) -> bytes:
    ordered = sorted(rows)
    counts = [0] * 256
    for row in ordered:
        counts[row.oid[0]] += 1
    for first in range(1, 256):
        counts[first] += counts[first - 1]
    number = len(ordered)
    parts = [
        _INDEX_MAGIC,
        struct.pack(">256L", *counts),
        *(row.oid for row in ordered),
        struct.pack(f">{number}L", *(row.crc for row in ordered)),
        struct.pack(f">{number}L", *(row.offset for row in ordered)),
        pack_sum,
    ]
    data = b"".join(parts)
    return data + sha1(data, usedforsecurity=False).digest()


def _read_index(index: bytes) -> Iterator[_Row]:
    head = len(_INDEX_MAGIC) + 1024
    if not index.startswith(_INDEX_MAGIC) or len(index) < head + 2 * _SUM:
        raise PackUnreadable("not a pack index")
    number = int.from_bytes(index[head - 4 : head], "big")
    if len(index) != head + number * 28 + 2 * _SUM:
        raise PackUnreadable("a pack index with other tables than ours")
    crcs = struct.unpack_from(f">{number}L", index, head + number * 20)
    offsets = struct.unpack_from(f">{number}L", index, head + number * 24)
    for place in range(number):
        at = head + place * 20
        yield _Row(index[at : at + 20], crcs[place], offsets[place])
