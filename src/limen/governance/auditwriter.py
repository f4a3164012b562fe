"""The thread that makes audit rows durable, many in one commit; it answers for every row it was handed."""

import logging
import os
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from msgspec import Struct

from limen.db.hubsql import HUB_STEPS
from limen.db.migrations import migrate
from limen.db.sqlite import (
    Connection,
    checkpoint,
    close,
    connect,
    is_busy,
    set_patience,
    wal_frames,
)
from limen.errors import StoreUnavailable
from limen.governance.auditchain import Chain
from limen.governance.auditorphans import bring_home
from limen.governance.auditspool import Mark
from limen.governance.auditsql import TOUCH

__all__ = ["AuditWriter", "Errand", "Report"]

log = logging.getLogger(__name__)

PATIENCE_WHILE_BROKEN_S = 0.25
MAX_ERRANDS = 500
CHECKPOINT_FRAMES = 1000


class Errand(Struct, frozen=True, eq=False):
    """Rows that belong together, what must be in the chain before them, and who waits for it."""

    bodies: Sequence[bytes] = ()
    marks: Sequence[Mark] = ()
    """How far the spool was filled; it keeps its rows until they are in the chain, so these are never given up."""
    done: Future[None] | None = None
    has_happened: bool = False
    """What the rows tell of has happened, so they are worth keeping elsewhere if the database will not have them."""


class Report(Struct, frozen=True):
    """What became of errands: their rows are durable, or why they are not."""

    errands: Sequence[Errand]
    error: StoreUnavailable | None
    moved: Mark | None = None
    """Everything spooled up to here is in the chain."""
    is_last: bool = False


_STOP = Errand()


class AuditWriter:
    """Owns the thread, its connection (`synchronous=FULL`) and the size of the write-ahead log.

    Whatever waits when it wakes goes into one transaction. It opens the database anew after a failure, so it
    recovers by itself; while it is broken it waits only shortly for a lock, so that refusals are quick.
    """

    def __init__(
        self, path: Path, loop: AbstractEventLoop, report: Callable[[Report], None], patience_s: float
    ) -> None:
        self._path = path
        self._loop = loop
        self._report = report
        self._errands: SimpleQueue[Errand] = SimpleQueue()
        # A disk that never answers must not keep the process from ending, hence a daemon.
        self._thread = Thread(target=self._run, name="audit-writer", daemon=True)
        self._db: Connection | None = None
        self._chain: Chain | None = None
        self._inode = 0
        self._owed: dict[str, Mark] = {}
        self._moved: Mark | None = None
        self._finished: list[Mark] = []
        self._checkpoint_at = CHECKPOINT_FRAMES
        self._full_patience_s = patience_s
        self._patience_s = patience_s

    def start(self) -> None:
        """Start the thread; its first report says whether the database could be opened."""
        self._thread.start()

    def submit(self, errand: Errand) -> None:
        """Queue rows, in order; they are on their way when this returns."""
        self._errands.put(errand)

    def stop(self) -> None:
        """Finish what is queued, close, and send the last report."""
        self._errands.put(_STOP)

    def join(self) -> None:
        """Wait for the thread to end, which it does right after its last report."""
        self._thread.join()

    def _run(self) -> None:
        errands: Sequence[Errand] = ()
        while _STOP not in errands:
            error = self._attempt(partial(self._keep, errands))
            self._tell(Report(errands, error, self._moved))
            self._tidy()
            errands = self._take()
        error = self._attempt(partial(self._keep, errands))
        self._tidy()
        self._close()
        for mark in self._owed.values():
            mark.file.close()
        self._tell(Report(errands, error, self._moved, is_last=True))

    def _take(self) -> Sequence[Errand]:
        errands = [self._errands.get()]
        try:
            while len(errands) < MAX_ERRANDS and errands[-1] is not _STOP:
                errands.append(self._errands.get_nowait())
        except Empty:
            pass
        return errands

    def _attempt(self, work: Callable[[], None]) -> StoreUnavailable | None:
        """Do the work, or return why not, ready to try again; nothing that fails ends the thread."""
        try:
            work()
        except StoreUnavailable as error:
            if not is_busy(error):
                self._close()
            return error
        except Exception as error:
            # The supervisor: a bug must reach those who wait and the log.
            log.exception("audit writer failed")
            self._close()
            return StoreUnavailable(f"the audit writer failed: {error!r}")
        return None

    def _keep(self, errands: Sequence[Errand]) -> None:
        for errand in errands:
            # A file keeps its place in the order when a later mark of it comes in.
            self._owed.update((mark.file.name, mark) for mark in errand.marks)
        bodies = [body for errand in errands for body in errand.bodies]
        chain = self._get_chain()
        if not bodies and not self._owed:
            return
        try:
            self._append(chain, bodies)
        except StoreUnavailable:
            self._wait_for_locks(PATIENCE_WHILE_BROKEN_S)
            raise
        for mark in self._owed.values():
            self._moved = mark
            if mark.is_last:
                self._finished.append(mark)
        self._owed.clear()
        self._wait_for_locks(self._full_patience_s)

    def _append(self, chain: Chain, bodies: Sequence[bytes]) -> None:
        """What was spooled goes first, so that the chain tells things in their order; all else in one go behind it."""
        is_all = False
        while not is_all:
            with chain.transaction():
                spooled, is_all = self._move_some(chain)
                chain.append([*spooled, *bodies] if is_all else spooled)

    def _move_some(self, chain: Chain) -> tuple[Sequence[bytes], bool]:
        """Some rows that spools hold and the chain does not, noted as moved, and whether they are the last."""
        left = len(self._owed)
        for name, mark in self._owed.items():
            left -= 1
            start = chain.moved(name)
            if start < mark.end:
                try:
                    piece = mark.file.read(start, mark.end)
                except OSError as error:
                    raise StoreUnavailable(f"the audit spool cannot be read: {error}", spool=name) from error
                chain.note_moved(name, piece.end)
                return piece.rows, not left and piece.end >= mark.end
        return (), True

    def _get_chain(self) -> Chain:
        if self._chain is not None and self._inode == _inode(self._path):
            return self._chain
        if self._chain is not None:
            log.error("audit database was replaced", extra={"path": str(self._path)})
        self._close()
        self._db = connect(self._path, synchronous="FULL", patience_s=self._patience_s, checkpoint_pages=0)
        migrate(self._db, HUB_STEPS)
        self._inode = _inode(self._path)
        chain = Chain(self._db)
        bring_home(chain, self._path)
        self._chain = chain
        return chain

    def _wait_for_locks(self, patience_s: float) -> None:
        if patience_s != self._patience_s:
            self._patience_s = patience_s
            if self._db is not None:
                set_patience(self._db, patience_s)

    def _tidy(self) -> None:
        """After everyone has their answer: remove spools that are in the chain, shorten a log that has grown."""
        failed = self._attempt(self._remove_spools) or self._attempt(self._shorten_log)
        if failed is not None:
            log.warning("audit trail cannot be tidied", extra={"reason": str(failed)})

    def _remove_spools(self) -> None:
        while self._finished:
            file = self._finished.pop().file
            is_gone = file.remove()
            file.close()
            if is_gone and self._chain is not None:
                # Only now: a note without a file is litter, a file without a note would be moved twice.
                self._chain.forget(file.name)

    def _shorten_log(self) -> None:
        if self._db is None or self._chain is None:
            return
        frames = wal_frames(self._db)
        if frames < self._checkpoint_at:
            return
        if checkpoint(self._db, touch=TOUCH, patience_s=self._patience_s):
            self._checkpoint_at = CHECKPOINT_FRAMES
        else:
            # A reader with an old view is in the way; trying again at once would only hold up the writers.
            self._checkpoint_at = frames + CHECKPOINT_FRAMES

    def _close(self) -> None:
        if self._db is not None:
            close(self._db)
        self._db = None
        self._chain = None

    def _tell(self, report: Report) -> None:
        try:
            self._loop.call_soon_threadsafe(self._report, report)
        except RuntimeError:
            log.exception("audit rows settled after the event loop ended", extra={"errands": len(report.errands)})


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0
