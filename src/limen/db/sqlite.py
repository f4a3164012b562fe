"""Opens SQLite the house way and frames transactions; no driver error leaves here untranslated."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import quote

import apsw

from limen.clock import monotonic
from limen.errors import StoreUnavailable

__all__ = [
    "Connection",
    "Cursor",
    "Transaction",
    "Translated",
    "Value",
    "checkpoint",
    "close",
    "connect",
    "connect_memory",
    "connect_readonly",
    "copy_to",
    "is_busy",
    "is_checksummed",
    "is_damaged",
    "many",
    "numbers_of",
    "set_patience",
    "transaction",
    "wal_frames",
]

log = logging.getLogger(__name__)
Value: TypeAlias = "int | float | bytes | str | apsw.CArrayBinding | None"


class Cursor(Protocol):
    """The rows of a statement, as they are asked for."""

    def execute(self, statements: str, bindings: Sequence[Value] | None = None) -> "Cursor":
        """Run a statement; what this cursor did before is over."""
        ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None after the last."""
        ...

    def close(self) -> None:
        """Let go of the statement, which is what ends a reader's view."""
        ...


class Connection(Protocol):
    """What the house uses of the driver's connection, typed, so that nobody else needs the driver."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, statements: str, bindings: Sequence[Value] | None = None) -> Cursor:
        """Run one or more statements."""
        ...

    def cursor(self) -> Cursor:
        """A cursor to use again and again, which spares making one for each statement."""
        ...

    def changes(self) -> int:
        """How many rows the last statement changed."""
        ...

    def set_busy_timeout(self, milliseconds: int) -> None:
        """How long a lock is waited for."""
        ...

    def wal_autocheckpoint(self, n: int) -> None:
        """After how many pages a commit also checkpoints; 0 for never."""
        ...

    def wal_checkpoint(self, *, mode: int) -> tuple[int, int]:
        """Checkpoint, and tell how many frames the log holds and how many are in the database."""
        ...

    def reserve_bytes(self, schema: str | None = None, reserve: int = -1) -> int:
        """How many bytes at the end of each page are kept free."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


# The pages of the write-ahead log are overwritten in place, so their length seldom changes and the data is enough.
_sync = os.fdatasync if sys.platform == "linux" else os.fsync
_SETUP_PAUSE_S = 0.005
_CHECKSUMS = "cksmvfs"
_CHECKSUM_BYTES = 8
_DAMAGES = frozenset({"CorruptError", "NotADBError", "NotChecksummed"})
# A short read: the file ends before a page that its own log or header promises.
_DAMAGE_CODES = frozenset({apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_SHORT_READ})
# The write lock is held meanwhile: a slow reader must not stop every writer, the next attempt is never far.
_CHECKPOINT_PATIENCE_S = 0.005


def is_busy(error: StoreUnavailable) -> bool:
    """Whether it failed only because another connection holds a lock; the database itself is well."""
    return error.facts.get("reason") in ("BusyError", "LockedError")


def is_damaged(error: StoreUnavailable) -> bool:
    """Whether what the database holds is not what was written; trying again does not help."""
    return error.facts.get("reason") in _DAMAGES or error.facts.get("code") in _DAMAGE_CODES


def is_checksummed(db: Connection) -> bool:
    """Whether each page is checked as it is read: so it was made, and its header still says so."""
    return db.execute("pragma checksum_verification").fetchone() == ("1",)


def connect(  # noqa: PLR0913 - one way to open a database, and each choice has its default
    path: Path,
    *,
    synchronous: Literal["FULL", "NORMAL"] = "FULL",
    patience_s: float = 5.0,
    checkpoint_pages: int = 1000,
    checksummed: bool = False,
    page_bytes: int = 4096,
) -> Connection:
    """Open a database for reading and writing, made on first use and readable by its owner only.

    `patience_s` is how long a lock is waited for. `checkpoint_pages=0` leaves the write-ahead log to others. With
    `checksummed` each page carries a checksum, and a damaged one is an error (`is_damaged`) instead of wrong rows;
    this and `page_bytes` hold from the moment a database is made.

    Raises:
        StoreUnavailable: it cannot be opened, is no database, or is not checksummed and should be (`is_damaged`).
    """
    try:
        _make_private(path)
    except OSError as error:
        raise _translated(error) from error
    db = _open(path, apsw.SQLITE_OPEN_READWRITE, checksummed=checksummed)
    try:
        set_patience(db, patience_s)
        db.execute(f"pragma page_size = {page_bytes}")
        if checksummed:
            db.reserve_bytes("main", _CHECKSUM_BYTES)
        _use_wal(db, patience_s)
        if checksummed and not is_checksummed(db):
            close(db)
            raise StoreUnavailable("the database has no checksums", reason="NotChecksummed")
        db.execute(f"pragma synchronous = {synchronous}; pragma foreign_keys = on")
        db.wal_autocheckpoint(checkpoint_pages)
    except apsw.Error as error:
        close(db)
        raise _translated(error) from error
    return db


def connect_readonly(
    path: Path, *, patience_s: float = 5.0, checksummed: bool = False, is_unchanging: bool = False
) -> Connection:
    """Open an existing database that this connection will never change.

    `is_unchanging`: nobody else can change it either (the disk takes no writes), so no locks and no log are needed.

    Raises:
        StoreUnavailable: it is not there, or is no database.
    """
    if is_unchanging:
        address = f"file:{quote(str(path))}?immutable=1"
        db = _open(address, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, checksummed=checksummed)
    else:
        db = _open(path, apsw.SQLITE_OPEN_READONLY, checksummed=checksummed)
    set_patience(db, patience_s)
    return db


def connect_memory() -> Connection:
    """A private database that lives as long as its connection."""
    return apsw.Connection(":memory:")


def close(db: Connection) -> None:
    """Let go of a database, also of one that fails even at that."""
    try:
        db.close()
    except apsw.Error as error:
        log.warning("database did not close", extra={"reason": str(error)})


def set_patience(db: Connection, seconds: float) -> None:
    """How long this connection waits for a lock before it gives up."""
    db.set_busy_timeout(int(seconds * 1000))


def many(values: Sequence[bytes]) -> Value:
    """Values for the rows of `carray(?)`, at least one: a whole batch in one statement, run without the interpreter."""
    return apsw.carray(tuple(values))  # pyright: ignore[reportUnknownMemberType] - "Buffer" is not imported in its stub


def numbers_of(values: bytes) -> Value:
    """Whole numbers of 64 bits in the machine's order, at least one, for the rows of `carray(?)`."""
    return apsw.carray(values, flags=apsw.SQLITE_CARRAY_INT64)  # pyright: ignore[reportUnknownMemberType] - as above


class Transaction:
    """Committed when its block ends, rolled back when the block or the commit fails; may be entered again and again.

    A class with a cursor of its own, not a generator: it frames every audited call, and this halves its cost.
    """

    __slots__ = ("_begin", "_db", "_execute")

    def __init__(self, db: Connection, begin: str) -> None:
        self._db = db
        self._begin = begin
        self._execute = db.cursor().execute

    def __enter__(self) -> Connection:
        try:
            self._execute(self._begin)
        except apsw.Error as error:
            raise _translated(error) from error
        return self._db

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            try:
                self._execute("commit")
            except apsw.Error as failure:
                self._roll_back()
                raise _translated(failure) from failure
            return
        self._roll_back()
        if isinstance(error, apsw.Error):
            raise _translated(error) from error

    def _roll_back(self) -> None:
        # SQLite has already rolled back by itself after some failures (disk full, I/O error).
        if self._db.in_transaction:
            try:
                self._execute("rollback")
            except apsw.Error as error:
                raise _translated(error) from error


class Translated:
    """Within its block the driver's errors are ours; for statements of a transaction that somebody else frames."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, apsw.Error):
            raise _translated(error) from error


def transaction(db: Connection, *, write: bool = True) -> Transaction:
    """Frame what follows: with the write lock taken at once, or as a reader's one consistent view.

    Raises:
        StoreUnavailable: the database failed, or (`is_busy`) its lock was not to be had in time; nothing of the
            block remains.
    """
    return Transaction(db, "begin immediate" if write else "begin")


def copy_to(db: Connection, path: Path) -> None:
    """Write the database as it is at this moment to a new file; others go on writing meanwhile.

    Raises:
        StoreUnavailable: it failed; the file is of no use.
    """
    try:
        db.execute("vacuum into ?", (str(path),))
    except apsw.Error as error:
        raise _translated(error) from error


def wal_frames(db: Connection) -> int:
    """How many page images the write-ahead log holds, whoever wrote them."""
    try:
        return db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
    except apsw.Error as error:
        raise _translated(error) from error


def checkpoint(db: Connection, *, touch: str, patience_s: float) -> bool:
    """Move the write-ahead log into the database and start it anew; False when others were in the way.

    Most is moved while others go on writing; the rest under the write lock, so that steady writers cannot keep
    the log growing. The commit that starts a log anew syncs its header: `touch`, a statement that changes
    nothing, makes it this connection's. `patience_s` is the connection's own and is restored.

    Raises:
        StoreUnavailable: the database failed.
    """
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        set_patience(db, _CHECKPOINT_PATIENCE_S)
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        db.execute(touch)
    except apsw.BusyError:
        return False
    except apsw.Error as error:
        raise _translated(error) from error
    finally:
        set_patience(db, patience_s)
    return True


def _open(path: Path | str, flags: int, *, checksummed: bool) -> Connection:
    try:
        if checksummed:
            _know_checksums()
        return apsw.Connection(str(path), flags=flags, vfs=_CHECKSUMS if checksummed else None)
    except apsw.Error as error:
        raise _translated(error) from error


@cache
def _know_checksums() -> None:
    # It takes 7 ms to import, and a hub that never opens a brain does not need it.
    from apsw import sqlite_extra  # noqa: PLC0415

    # The extension makes itself the way every later file is opened; who did not ask for checksums keeps the usual one.
    usual = apsw.vfs_names()[0]
    with closing(apsw.Connection(":memory:")) as db:
        sqlite_extra.load(db, "cksumvfs")
    apsw.set_default_vfs(usual)


def _make_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Only a file that is not there yet is opened here: closing a second descriptor of a database in use would
    # drop the locks that SQLite holds on it in this process.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return


def _use_wal(db: Connection, patience_s: float) -> None:
    # Two processes that make one database: for this switch SQLite does not wait, whatever the connection's patience.
    deadline = monotonic() + patience_s
    while True:
        try:
            db.execute("pragma journal_mode = wal")
        except apsw.BusyError:
            if monotonic() >= deadline:
                raise
            sleep(_SETUP_PAUSE_S)
        else:
            return


def _translated(error: Exception) -> StoreUnavailable:
    # The extended code tells a page that fails its checksum from a disk that fails.
    code = getattr(error, "extendedresult", None)
    facts = {} if code is None else {"code": code}
    return StoreUnavailable(f"the database cannot be used: {error}", reason=type(error).__name__, **facts)
