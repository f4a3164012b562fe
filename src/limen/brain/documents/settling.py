"""Makes placed files survive a power cut, some time after they were acknowledged, so that the journal may forget them.

Until then the journal holds their contents; nothing is lost when this never runs.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

from limen.brain.documents.gate import Gate
from limen.brain.documents.journal import Journal, Placing
from limen.brain.documents.placing import Folder
from limen.clock import now_ms, timestamp
from limen.errors import LimenError, StoreUnavailable

__all__ = ["Settler", "settle"]

log = logging.getLogger(__name__)

DELAY_S = 3.0
BATCH = 1000
SHARE = 64
KEYS_KEPT_MS = 7 * 86_400_000


def settle(journal: Journal, folder: Folder, is_ending: Callable[[], bool] = lambda: False, limit: int = BATCH) -> bool:
    """Sync some of what was placed, and let the journal forget what is safe; False when there was nothing to do.

    `is_ending` tells whether to stop early, with what has been synced.

    Raises:
        OSError: the disk failed.
        StoreUnavailable: the journal cannot be written.
    """
    placings = journal.unsettled(limit)
    placed: list[Placing] = []
    for placing in placings:
        if is_ending():
            break
        if placing.temp and folder.is_waiting(placing.temp):
            continue
        if placing.checksum:
            folder.sync(placing.path)
        placed.append(placing)
    for name in _folders_of(placed):
        folder.sync_folder(name)
    if placed:
        journal.settle(placed, timestamp(now_ms() - KEYS_KEPT_MS))
    return bool(placed)


def _folders_of(placings: Sequence[Placing]) -> Sequence[str]:
    # A folder that was just made is only kept when its own name is, in the folder above it.
    above = {placing.path[:at] for placing in placings for at, char in enumerate(placing.path) if char == "/"}
    return ["", *sorted(above)]


class Settler:
    """The thread that settles a brain while it is in use; of all processes, one at a time."""

    def __init__(self, journal: Journal, folder: Folder, lock: Path, retry: Callable[[], None]) -> None:
        self._journal = journal
        self._folder = folder
        self._lock = lock
        self._retry = retry
        self._stop = Event()
        self._news = Event()
        self._thread = Thread(target=self._run, name="brain-settler", daemon=True)

    def start(self) -> None:
        """Start the thread; what earlier processes left is settled first."""
        self._news.set()
        self._thread.start()

    def wake(self) -> None:
        """Something was placed."""
        self._news.set()

    def stop(self) -> None:
        """End; when much has been left by processes that lived too shortly, take a share of it first."""
        self._stop.set()
        self._news.set()
        self._thread.join()
        try:
            if len(self._journal.unsettled(SHARE + 1)) > SHARE:
                settle(self._journal, self._folder, limit=SHARE)
        except (OSError, LimenError) as error:
            log.warning("files cannot be settled", extra={"reason": str(error)})

    def _run(self) -> None:
        while True:
            self._news.wait()
            if self._stop.wait(DELAY_S):
                return
            self._news.clear()
            try:
                self._settle_all()
            except (OSError, LimenError) as error:
                log.warning("files cannot be settled", extra={"reason": str(error)})
            except Exception:
                # The supervisor: what is not settled stays in the journal, so nothing is lost.
                log.exception("settling failed")

    def _settle_all(self) -> None:
        gate = Gate(self._lock, "", 0.0)
        try:
            with gate.hold():
                while not self._stop.is_set() and settle(self._journal, self._folder, self._stop.is_set):
                    pass
        except StoreUnavailable:
            # Another process is at it, or the journal is busy: later.
            self._news.set()
            return
        finally:
            gate.close()
        if self._journal.unsettled(1):
            self._retry()
