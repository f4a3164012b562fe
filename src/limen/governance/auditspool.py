"""Audit rows on their way to the chain: appended to a file of this process, so that `kill -9` cannot lose them.

An append is one write to the operating system, a fiftieth of the price of a commit. How much of a file the chain
already has is noted in the database, in the transaction that moves the rows; so each row is moved exactly once, by the
writer thread of this process or by whoever finds the file after its owner died. A lock on the file, held for as long as
its owner lives, tells the two apart. Where files cannot be locked so (Windows, some network shares) nothing is spooled.
"""

import logging
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson
from msgspec import Struct

from limen.errors import AuditUnavailable, StoreUnavailable

__all__ = ["Mark", "Piece", "Spool", "SpoolFile", "claimed", "is_row", "spools_of"]

log = logging.getLogger(__name__)

ROTATE_BYTES: Final = 4 * 1024 * 1024
MAX_WAITING_BYTES: Final = 64 * 1024 * 1024
PIECE_BYTES: Final = 512 * 1024
_SUFFIX: Final = ".spool"
_FLAGS: Final = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)


class Piece(Struct, frozen=True, gc=False):
    """Some rows of a spool, and where the next begins."""

    rows: Sequence[bytes]
    end: int


class SpoolFile(Struct, frozen=True, eq=False, gc=False):
    """One spool on disk, held open and locked."""

    path: Path
    file: int

    @property
    def name(self) -> str:
        """Under which the chain notes how much of it was moved."""
        return self.path.name

    def find_end(self) -> int:
        """Where its last whole row ends; half a row behind it belongs to a call that was never answered.

        Raises:
            OSError: it cannot be read.
        """
        size = os.fstat(self.file).st_size
        start = max(0, size - PIECE_BYTES)
        return start + os.pread(self.file, size - start, start).rfind(b"\n") + 1

    def read(self, start: int, end: int) -> Piece:
        """The rows between two places where rows end, as many as are wise at once.

        Raises:
            OSError: it cannot be read.
        """
        wanted = min(end - start, PIECE_BYTES)
        data = os.pread(self.file, wanted, start)
        rows = data.split(b"\n")
        rest = len(rows.pop())
        if len(data) < wanted or rest == wanted:
            # Somebody else cut it short or scribbled over it: the rows that are left are taken, the rest is gone.
            log.error("audit spool is damaged", extra={"spool": self.name, "bytes": wanted - len(data) + rest})
            return Piece([row for row in rows if is_row(row)], start + wanted)
        return Piece(rows, start + wanted - rest)

    def is_intact(self, end: int) -> bool:
        """Whether it is still there under its name and as long as it was made."""
        try:
            found = os.stat(self.path)
        except OSError:
            return False
        return found.st_size == end and found.st_ino == os.fstat(self.file).st_ino

    def remove(self) -> bool:
        """Delete it, once the chain has all of it; False when that is not allowed."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("audit spool cannot be removed", extra={"spool": self.name, "reason": str(error)})
            return False
        return True

    def close(self) -> None:
        """Let go of it: from now on anybody may claim it."""
        os.close(self.file)


class Mark(Struct, frozen=True, gc=False):
    """How far a spool was filled at some moment."""

    file: SpoolFile
    end: int
    rows: int
    """Rows this process had spooled by then, in this file and those before."""
    size: int
    """The same in bytes."""
    is_last: bool = False
    """Nothing more will be appended to this file."""


class Spool:
    """The spool of this process, a new file whenever one is long; appending waits for no lock and no sync."""

    def __init__(self, database: Path) -> None:
        self.can_lock = sys.platform != "win32"
        """False once it is known that files here cannot be locked, and so nothing can be spooled."""
        self._database = database
        self._file: SpoolFile | None = None
        self._end = 0
        self._retired: list[Mark] = []
        self._rows = self._size = 0
        self._moved_rows = self._moved_size = 0

    @property
    def waiting(self) -> int:
        """Rows appended that are not known to be in the chain."""
        return self._rows - self._moved_rows

    def append(self, lines: bytes, rows: int) -> None:
        """Have the operating system take so many rows, each a line, all or none.

        Raises:
            AuditUnavailable: too many wait already.
            StoreUnavailable: it will not take them.
        """
        if self._size - self._moved_size >= MAX_WAITING_BYTES:
            raise AuditUnavailable("too many audit rows wait to be written", waiting=self.waiting)
        file = self._file or self._open()
        try:
            written = os.write(file.file, lines)
        except OSError as error:
            raise _refusal(error) from error
        if written != len(lines):
            self._take_back(file)
            raise StoreUnavailable("the audit spool cannot be written: the disk is full")
        self._end += written
        self._size += written
        self._rows += rows

    def take_marks(self) -> Sequence[Mark]:
        """How far each file is filled, oldest first; whoever takes the last mark of a file owns it from then on."""
        marks, self._retired = self._retired, []
        if self._file is not None:
            marks.append(self._mark(self._file))
        return marks

    def note_moved(self, mark: Mark) -> None:
        """Learn that the chain has everything up to a mark."""
        self._moved_rows, self._moved_size = mark.rows, mark.size

    def retire(self) -> None:
        """Append no more to this file."""
        if self._file is not None:
            self._retired.append(self._mark(self._file, is_last=True))
            self._file = None

    def retire_if_due(self) -> None:
        """Append no more to a file that is long, or that somebody else has laid hands on."""
        if self._file is None:
            return
        if not self._file.is_intact(self._end):
            log.error("audit spool was changed or removed by others", extra={"spool": self._file.name})
            self.retire()
        elif self._end >= ROTATE_BYTES:
            self.retire()

    def abandon(self) -> None:
        """Let go of the file with whatever is in it; somebody will find it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _mark(self, file: SpoolFile, *, is_last: bool = False) -> Mark:
        return Mark(file, self._end, self._rows, self._size, is_last)

    def _open(self) -> SpoolFile:
        if not self.can_lock:
            raise StoreUnavailable("files cannot be locked here, so audit rows are not spooled")
        path = self._database.with_name(f"{self._database.name}.{os.urandom(8).hex()}{_SUFFIX}")
        try:
            file = SpoolFile(path, os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600))
        except OSError as error:
            raise _refusal(error) from error
        try:
            is_ours = _lock(file.file)
        except OSError as error:
            self.can_lock = False
            file.remove()
            file.close()
            raise _refusal(error) from error
        # Somebody who looks for orphans may have found the new file before it was locked, and removed it as empty.
        if not is_ours or not file.is_intact(0):
            file.close()
            raise StoreUnavailable("the audit spool was taken for an orphan")
        self._file, self._end = file, 0
        return file

    def _take_back(self, file: SpoolFile) -> None:
        """Undo a write that was taken in part."""
        try:
            os.ftruncate(file.file, self._end)
        except OSError:
            # Nothing may follow half a row.
            self.retire()


def is_row(line: bytes) -> bool:
    """Whether a line of a file that may be damaged is worth being told; the log says so when it is not."""
    try:
        if isinstance(orjson.loads(line), dict):
            return True
    except orjson.JSONDecodeError:
        pass
    log.error("audit spool holds what is no row", extra={"bytes": len(line)})
    return False


def spools_of(database: Path) -> Sequence[Path]:
    """Every spool beside this database, its owner dead or alive."""
    try:
        names = os.listdir(database.parent)
    except OSError:
        return ()
    start = f"{database.name}."
    return [database.with_name(name) for name in sorted(names) if name.startswith(start) and name.endswith(_SUFFIX)]


@contextmanager
def claimed(path: Path) -> Generator[SpoolFile | None]:
    """Hold a spool that has no owner any more, or None: it has one, or it is gone, or it is not for us to touch."""
    try:
        file = SpoolFile(path, os.open(path, _FLAGS))
    except OSError:
        yield None
        return
    try:
        # Whoever held it before us may have removed it between our look and the lock.
        yield file if _is_orphan(file) else None
    finally:
        file.close()


def _is_orphan(file: SpoolFile) -> bool:
    try:
        return _lock(file.file) and file.path.exists()
    except OSError:
        return False


if sys.platform == "win32":

    def _lock(file: int) -> bool:
        """There is no lock here that ends with its process and leaves the file readable."""
        return False

else:
    import fcntl

    def _lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _refusal(error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"the audit spool cannot be written: {error}", reason=type(error).__name__)
