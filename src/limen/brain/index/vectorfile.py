"""The vectors of an index, in a plain file beside the database: a row for each passage, at the place of its number.

Hundreds of them are read for each question, from all over the file, which costs an eighth of what it costs in a table;
neighbours are read at one go, and some that were read stay in memory. A row is sealed with its number, so a row that
never was written, or not as it is now, is not taken for a vector. A file holds the vectors of one model; what makes it
right or wrong to ask for a row is in the database.
"""

import errno
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from weakref import finalize

from limen.brain.arrays import I8, I64, U8, Bools, np
from limen.errors import StoreFull, StoreUnavailable

__all__ = ["VectorFile", "vector_file_of"]

_SEAL_BYTES = 4
_NEAR = 16
"""Rows so near to each other are read at one go, with what lies between them: that is cheaper than reading twice."""
_REMEMBERED = 1 << 16


def vector_file_of(path: Path, token: bytes, epoch: int) -> Path:
    """Where the vectors of an index are: a file of its own for each index that ever was here, and each model."""
    return path.with_name(f"{path.stem}-{token[:6].hex()}-{epoch}.vectors")


class VectorFile:
    """Rows by number. Any thread may use it; it is closed when nobody holds it any more."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._stride = _SEAL_BYTES + dimensions
        self._dimensions = dimensions
        self._memory = _Memory(dimensions)
        try:
            self._fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _translated(error) from error
        finalize(self, os.close, self._fd)

    def write(self, first: int, rows: I8) -> None:
        """Put in these rows, numbered from `first` on.

        Raises:
            StoreFull: there is no room for them.
        """
        packed = [_sealed(number, row.tobytes()) for number, row in enumerate(rows, start=first)]
        data = memoryview(b"".join(packed))
        place = first * self._stride
        try:
            while data:
                written = os.pwrite(self._fd, data, place)
                data, place = data[written:], place + written
        except OSError as error:
            raise _translated(error) from error
        finally:
            self._memory.forget(np.arange(first, first + len(rows)))

    def read(self, numbers: "Sequence[int] | I64") -> tuple[I8, Bools]:
        """These rows, and which of them are there; zeros for the others.

        Raises:
            ValueError: a row is not what was written.
        """
        wanted = np.asarray(numbers, dtype=np.int64)
        rows, found = self._memory.find(wanted)
        lacking = np.flatnonzero(~found)
        if len(lacking):
            # In ascending order, whatever the order they are asked for in.
            lacking = lacking[np.argsort(wanted[lacking], kind="stable")]
            there = self._stored(wanted[lacking])
            rows[lacking], found[lacking] = there
            self._memory.remember(wanted[lacking], *there)
        return rows, found

    def sync(self) -> None:
        """Have what was written on the disk."""
        os.fdatasync(self._fd)

    def _stored(self, numbers: I64) -> tuple[I8, Bools]:
        kept = self._runs(numbers)
        seals = kept[:, :_SEAL_BYTES].copy().view("<u4")[:, 0]
        found: Bools = seals != 0
        data, stride, crc32 = kept.data.cast("B"), self._stride, zlib.crc32
        begins = range(_SEAL_BYTES, len(data), stride)
        expected = [
            crc32(data[begin : begin + self._dimensions], number & 0xFFFFFFFF) or 1
            for begin, number in zip(begins, numbers.tolist(), strict=True)
        ]
        rows: I8 = kept[:, _SEAL_BYTES:].view(np.int8)
        if (found & (seals != np.array(expected, dtype=np.uint32))).any() or rows[~found].any():
            raise ValueError("a vector is not what was kept")
        return rows, found

    def _runs(self, numbers: I64) -> U8:
        """What the file has at the places of these numbers, which ascend; zeros beyond its end."""
        cuts = np.flatnonzero(np.diff(numbers) > _NEAR) + 1
        begins, ends = np.append(0, cuts), np.append(cuts, len(numbers))
        firsts = numbers[begins]
        sizes = numbers[ends - 1] + 1 - firsts
        places = np.cumsum(sizes) - sizes
        stride, fd = self._stride, self._fd
        kept: U8 = np.zeros((int(sizes.sum()), stride), dtype=np.uint8)
        into = kept.data.cast("B")
        runs = zip((firsts * stride).tolist(), (places * stride).tolist(), (sizes * stride).tolist(), strict=True)
        for offset, place, size in runs:
            os.preadv(fd, (into[place : place + size],), offset)
        return kept[numbers + np.repeat(places - firsts, ends - begins)]


class _Memory:
    """Some of the rows that were read, each at the one place it can have. Any thread may use it.

    A row that is there never changes under its number, but for being written again by whoever wrote it: another
    process writes the same.
    """

    def __init__(self, dimensions: int) -> None:
        self._lock = Lock()
        self._numbers: I64 = np.full(_REMEMBERED, -1, dtype=np.int64)
        self._rows: I8 = np.zeros((_REMEMBERED, dimensions), dtype=np.int8)

    def find(self, numbers: I64) -> tuple[I8, Bools]:
        """Those that are known; zeros for the others."""
        places = numbers % _REMEMBERED
        with self._lock:
            found: Bools = self._numbers[places] == numbers
            if found.all():
                return self._rows[places], found
            rows: I8 = np.zeros((len(numbers), self._rows.shape[1]), dtype=np.int8)
            rows[found] = self._rows[places[found]]
        return rows, found

    def remember(self, numbers: I64, rows: I8, there: Bools) -> None:
        """Keep these, in place of others."""
        numbers, rows = numbers[there], rows[there]
        places = numbers % _REMEMBERED
        with self._lock:
            self._rows[places] = rows
            self._numbers[places] = numbers

    def forget(self, numbers: I64) -> None:
        """They are about to be others."""
        places = numbers % _REMEMBERED
        with self._lock:
            self._numbers[places[self._numbers[places] == numbers]] = -1


def _sealed(number: int, row: bytes) -> bytes:
    # Never all zeros, which is what a hole in a file reads as.
    return (zlib.crc32(row, number & 0xFFFFFFFF) or 1).to_bytes(_SEAL_BYTES, "little") + row


def _translated(error: OSError) -> StoreFull | StoreUnavailable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull("there is no room left for the index; free some space on its disk")
    return StoreUnavailable(f"the vectors of the index cannot be kept: {error.strerror}", reason=type(error).__name__)
