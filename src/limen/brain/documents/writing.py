"""The thread that writes to a brain: all errands that wait become one transaction, one sync, then files in place."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from limen.brain.documents.document import Document
from limen.brain.documents.gate import Gate, Held, Left
from limen.brain.documents.grouping import Errand, Group, NoticeErrand, disk_refusal
from limen.brain.documents.journal import open_journal_db, refusal
from limen.brain.documents.ledger import Ledger
from limen.brain.documents.logend import check_end, count_cut_off, head_in_file
from limen.brain.documents.placing import Folder
from limen.brain.documents.recovery import recover
from limen.brain.records import Append, Write
from limen.db.sqlite import Connection, Translated, close, is_busy, wal_frames
from limen.errors import LimenError, StoreFull, StoreUnavailable

__all__ = ["Writer"]

log = logging.getLogger(__name__)

MAX_ERRANDS = 256
MAX_GROUP_BYTES = 16 * 1024 * 1024


class Writer:
    """Owns the thread, its connection (`synchronous=FULL`) and, while it writes, the brain's writer lock."""

    def __init__(
        self,
        path: Path,
        folder: Folder,
        gate: Gate,
        past: Callable[[Document], bytes | None],
        committed: Callable[[int], None],
    ) -> None:
        self._path = path
        self._folder = folder
        self._gate = gate
        self._past = past
        self._committed = committed
        self._errands: SimpleQueue[Errand | None] = SimpleQueue()
        self._db: Connection | None = None
        self._ledger: Ledger | None = None
        self._is_stopping = False
        self._is_first = True
        # A disk that never answers must not keep the process from ending, hence a daemon.
        self._thread = Thread(target=self._run, name="brain-writer", daemon=True)

    def start(self) -> None:
        """Finish what others left behind, then start the thread.

        Raises:
            JournalBroken: the journal is damaged.
            StoreFull: there is no room to finish.
            StoreUnavailable: the brain cannot be written.
        """
        try:
            self._attempt(())
        except BaseException:
            self._close()
            raise
        self._thread.start()

    def submit(self, errand: Errand) -> None:
        """Queue an errand; its future tells what became of it."""
        self._errands.put(errand)

    def stop(self) -> None:
        """Finish what is queued, and end."""
        self._errands.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def close(self) -> None:
        """Let go of the journal, which the last one to do so tidies up."""
        self._close()

    def _run(self) -> None:
        while errands := self._take():
            self._do(errands)

    def _take(self) -> Sequence[Errand]:
        """Whatever waits, at least one; nothing when the thread is to end."""
        taken: list[Errand] = []
        size = 0
        first = None if self._is_stopping else self._errands.get()
        while first is not None:
            taken.append(first)
            size += _size_of(first)
            if len(taken) >= MAX_ERRANDS or size >= MAX_GROUP_BYTES:
                return taken
            try:
                first = self._errands.get_nowait()
            except Empty:
                return taken
        self._is_stopping = True
        return taken

    def _do(self, errands: Sequence[Errand]) -> None:
        """Do these together; when there is no room for all, one by one, so that the small ones may still fit."""
        try:
            self._attempt(errands)
        except StoreFull as error:
            if len(errands) == 1:
                _refuse(errands, error)
            else:
                for errand in errands:
                    self._do([errand])
        except LimenError as error:
            _refuse(errands, error)
        except Exception as error:
            # The supervisor: a bug must reach those who wait and the log, and must not end the thread.
            log.exception("brain writer failed")
            self._close()
            _refuse(errands, StoreUnavailable(f"the brain's writer failed: {error!r}"))

    def _attempt(self, errands: Sequence[Errand]) -> None:
        try:
            with self._gate.hold() as held:
                group = self._write(errands, held)
        except OSError as error:
            raise disk_refusal(error) from error
        except StoreUnavailable as error:
            if not is_busy(error):
                self._close()
            raise refusal(error) from error
        if group is None:
            return
        self._committed(group.head)
        group.answer()

    def _write(self, errands: Sequence[Errand], held: Held) -> Group | None:
        ledger = self._get_ledger(held.left)
        held.is_done = held.left == "done" and not (self._folder.temps() if not errands else ())
        if not held.is_done:
            held.is_done = recover(ledger, self._folder, held.left)
        if not errands:
            return None
        group: Group | None = None
        try:
            with ledger.transaction():
                group = Group(ledger, self._folder, self._past)
                for errand in errands:
                    group.take(errand)
                group.write()
        except BaseException:
            if group is not None:
                group.drop()
            raise
        if not group.place():
            held.is_done = False
        return group

    def _get_ledger(self, left: Left) -> Ledger:
        if self._ledger is None:
            before = head_in_file(self._path)
            self._db = open_journal_db(self._path)
            ledger = Ledger(self._db)
            try:
                with Translated():
                    check_end(ledger, before)
            except BaseException:
                self._close()
                raise
            if self._is_first:
                self._tell_of_cut(self._db, left)
            self._is_first = False
            self._ledger = ledger
        return self._ledger

    def _tell_of_cut(self, db: Connection, left: Left) -> None:
        # After a restart of the machine nobody knows how much of the log was on the disk.
        lost = 0 if left == "unknown" else count_cut_off(self._path, lambda: wal_frames(db))
        if lost:
            log.error("journal's log is damaged: its end is lost, the files are not", extra={"commits": lost})

    def _close(self) -> None:
        if self._db is not None:
            close(self._db)
        self._db = self._ledger = None


def _size_of(errand: Errand) -> int:
    if isinstance(errand, NoticeErrand):
        return errand.size
    return sum(len(change.content) for change in errand.change_set.changes if isinstance(change, Write | Append))


def _refuse(errands: Sequence[Errand], error: LimenError) -> None:
    for errand in errands:
        with suppress(Exception):
            errand.done.set_exception(error)
