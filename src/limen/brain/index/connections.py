"""The connections to one index file: made when needed, used by one thread at a time, dropped when the file is another.

Making and clearing the file is done under a lock of its own, so that nobody takes away what another has just made.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock

import msgspec

from limen.brain.index.indexsql import INDEX_STEPS, MOVE_LOG, SETTINGS
from limen.brain.index.state import State, read_state
from limen.brain.index.vectorfile import VectorFile, vector_file_of
from limen.db.migrations import migrate
from limen.db.sqlite import (
    Connection,
    Translated,
    close,
    connect,
    connect_readonly,
    is_checksummed,
    is_damaged,
    transaction,
)
from limen.errors import IndexBroken, StoreUnavailable

__all__ = ["Connections", "Handle", "honest"]

_PAGE_BYTES = 8192
_PATIENCE_S = 30.0
_SPARE = 4
_IMPOSSIBLE = frozenset({"SQLError", "ConstraintError", "MismatchError"})
"""Our statements cannot fail so on our own tables: these are no longer ours."""


class Handle:
    """A connection with its two kinds of transaction, and the file it belongs to."""

    def __init__(self, db: Connection, file: tuple[int, int]) -> None:
        self.db = db
        self.file = file
        self.reading = transaction(db, write=False)
        self.writing = transaction(db)
        self.is_doubtful = False


class Connections:
    """Hands out connections to an index file, and takes them back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._spare: list[Handle] = []
        self._is_closed = False
        self._checked_file: tuple[int, int] | None = None
        self._vectors: tuple[Path, VectorFile] | None = None

    @contextmanager
    def borrow(self) -> Generator[Handle]:
        """A connection to the file that is there now, for one thread."""
        handle = self._take() or self._made()
        try:
            yield handle
        except (StoreUnavailable, IndexBroken):
            handle.is_doubtful = True
            raise
        finally:
            self._give_back(handle)

    def clear(self) -> None:
        """Take the file away, also a broken one; whoever has it open notices."""
        with self._held(fcntl.LOCK_EX):
            self._drop_spare()
            self._unlink("", "-wal", "-shm")
            self._unlink_vectors()

    def close(self) -> None:
        """Let go of all that nobody uses; the others follow when they come back."""
        self._is_closed = True
        self._drop_spare()

    def is_current(self, handle: Handle) -> bool:
        """Whether its file is still the one at this path."""
        return handle.file == self._file()

    def _take(self) -> Handle | None:
        file = self._file()
        while True:
            with self._lock:
                if not self._spare:
                    return None
                handle = self._spare.pop()
            if handle.file == file:
                return handle
            close(handle.db)

    def _give_back(self, handle: Handle) -> None:
        with self._lock:
            if len(self._spare) < _SPARE and not (self._is_closed or handle.is_doubtful or handle.db.in_transaction):
                self._spare.append(handle)
                return
        close(handle.db)

    def _drop_spare(self) -> None:
        with self._lock:
            spare, self._spare = self._spare, []
        for handle in spare:
            close(handle.db)

    def _file(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        return (found.st_dev, found.st_ino)

    def _has_begun(self) -> bool:
        # An empty file is one that was cut, or whose maker was killed: whoever has the old one open keeps it locked.
        try:
            return os.stat(self._path).st_size > 0
        except FileNotFoundError:
            return False

    def _made(self) -> Handle:
        with self._held(fcntl.LOCK_SH):
            if self._has_begun():
                return self._checked(self._opened())
        with self._held(fcntl.LOCK_EX):
            if not self._has_begun():
                # Of a database that is gone: those who still use it must not share its memory with the new one.
                self._unlink("", "-wal", "-shm")
                self._unlink_vectors()
            return self._opened()

    def _checked(self, handle: Handle) -> Handle:
        if self._checked_file != handle.file:
            try:
                self._check_log(handle)
            except BaseException:
                close(handle.db)
                raise
            self._checked_file = handle.file
        return handle

    def vectors(self, state: State, dimensions: int) -> VectorFile:
        """The vectors of this state."""
        path = vector_file_of(self._path, state.token, state.epoch)
        with self._lock:
            if self._vectors is None or self._vectors[0] != path:
                self._vectors = (path, VectorFile(path, dimensions))
            return self._vectors[1]

    def drop_vectors(self, state: State) -> None:
        """Take away vectors that are of no use any more; whoever reads them goes on."""
        vector_file_of(self._path, state.token, state.epoch).unlink(missing_ok=True)

    def _unlink_vectors(self) -> None:
        for file in self._path.parent.glob(f"{self._path.stem}-*.vectors"):
            file.unlink(missing_ok=True)

    def _unlink(self, *suffixes: str) -> None:
        for suffix in suffixes:
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _opened(self) -> Handle:
        db = connect(self._path, synchronous="NORMAL", patience_s=_PATIENCE_S, checksummed=True, page_bytes=_PAGE_BYTES)
        try:
            seen = migrate(db, INDEX_STEPS)
            with Translated():
                db.execute(SETTINGS)
                if 0 < seen < len(INDEX_STEPS):
                    # It begins anew; what was before must not be taken for what its log has lost.
                    db.execute(MOVE_LOG)
        except StoreUnavailable:
            close(db)
            raise
        return Handle(db, self._file() or (0, 0))

    def _check_log(self, handle: Handle) -> None:
        """See that the log reaches as far as the database it belongs to.

        A log that was damaged ends early when it is first read. If its end had been moved into the database already,
        old pages and new ones would be mixed, each of them sound. So they would by a log from another time.
        """
        in_file = _state_in_file(self._path)
        with handle.reading as db:
            now = read_state(db)
        if in_file is not None and not now.is_after(in_file):
            raise IndexBroken("the index has lost the end of its log: it is rebuilt from the documents")

    @contextmanager
    def _held(self, operation: int) -> Generator[None]:
        # SQLite finds the log by its name: a database opened just before it is cleared must not get the log of the
        # next. So it is opened, and read once, by many at a time or cleared by one.
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, operation)
            yield
        finally:
            os.close(fd)


def _state_in_file(path: Path) -> State | None:
    """What the database says of itself without its log; None when that cannot be read, as while it is written."""
    try:
        with Translated(), closing(connect_readonly(path, checksummed=True, is_unchanging=True)) as db:
            return read_state(db)
    except (StoreUnavailable, ValueError):
        return None


@contextmanager
def honest(db: Connection | None = None) -> Generator[None]:
    """Within its block, whatever shows that the index is damaged is `IndexBroken`."""
    try:
        with Translated():
            yield
            if db is not None and not is_checksummed(db):
                raise IndexBroken("the index has lost its checksums: it is rebuilt from the documents")
    except StoreUnavailable as error:
        if is_damaged(error) or error.facts.get("reason") in _IMPOSSIBLE:
            raise IndexBroken("the index is damaged: it is rebuilt from the documents", reason=str(error)) from error
        raise
    except UnicodeEncodeError:
        # Of what was to be kept, not of what is.
        raise
    except (ValueError, msgspec.MsgspecError) as error:
        raise IndexBroken("the index does not add up: it is rebuilt from the documents", reason=str(error)) from error
