"""The vectors of an index, in a plain file beside the database: a row for each passage, at the place of its number.

Hundreds of them are read for each question, from all over the file, which costs an eighth of what it costs in a table.
A row is sealed with its number, so a row that never was written, or not as it is now, is not taken for a vector. A file
holds the vectors of one model; what makes it right or wrong to ask for a row is in the database.
"""

import errno
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from weakref import finalize

from limen.brain.arrays import I8, Bools, np
from limen.errors import StoreFull, StoreUnavailable

__all__ = ["VectorFile", "vector_file_of"]

_SEAL_BYTES = 4


def vector_file_of(path: Path, token: bytes, epoch: int) -> Path:
    """Where the vectors of an index are: a file of its own for each index that ever was here, and each model."""
    return path.with_name(f"{path.stem}-{token[:6].hex()}-{epoch}.vectors")


class VectorFile:
    """Rows by number. Any thread may use it; it is closed when nobody holds it any more."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._stride = _SEAL_BYTES + dimensions
        self._dimensions = dimensions
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

    def read(self, numbers: Sequence[int]) -> tuple[I8, Bools]:
        """These rows, and which of them are there; zeros for the others.

        Raises:
            ValueError: a row is not what was written.
        """
        stride, fd = self._stride, self._fd
        kept = [os.pread(fd, stride, number * stride) for number in numbers]
        rows: I8 = np.zeros((len(kept), self._dimensions), dtype=np.int8)
        places = [place for place, row in enumerate(kept) if row.strip(b"\0")]
        for place in places:
            if kept[place] != _sealed(numbers[place], kept[place][_SEAL_BYTES:]):
                raise ValueError("a vector is not what was kept")
        if places:
            data = b"".join(kept[place][_SEAL_BYTES:] for place in places)
            rows[places] = np.frombuffer(data, dtype=np.int8).reshape(len(places), self._dimensions)
        found = np.zeros(len(kept), dtype=np.bool_)
        found[places] = True
        return rows, found

    def sync(self) -> None:
        """Have what was written on the disk."""
        os.fdatasync(self._fd)


def _sealed(number: int, row: bytes) -> bytes:
    # Never all zeros, which is what a hole in a file reads as.
    return (zlib.crc32(row, number & 0xFFFFFFFF) or 1).to_bytes(_SEAL_BYTES, "little") + row


def _translated(error: OSError) -> StoreFull | StoreUnavailable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull("there is no room left for the index; free some space on its disk")
    return StoreUnavailable(f"the vectors of the index cannot be kept: {error.strerror}", reason=type(error).__name__)
