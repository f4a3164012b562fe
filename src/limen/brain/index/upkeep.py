"""The work on an index that nobody waits for: merging segments, and embedding anew when the model has changed.

One process does it for all, elected by a file lock that dies with it. All of it can be interrupted at any point.
"""

import fcntl
import logging
import os
from bisect import bisect_left, bisect_right
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread

from limen.brain.index import indexsql
from limen.brain.index.compaction import due, merge_segments, sweep
from limen.brain.index.connections import Connections, Handle, honest
from limen.brain.index.embedding import adopt_model, embed_some
from limen.brain.index.segments import list_segments
from limen.brain.index.state import change_state, read_dead, read_state
from limen.errors import LimenError
from limen.models.ports import Embedder

__all__ = ["Upkeep"]

log = logging.getLogger(__name__)
_FINISHED_ANYWAY = 20_000
"""A merge of so many passages takes well under a second: it is finished even when the process wants to end."""


_DROPPED_AT_ONCE = 1000


class Upkeep:
    """Works in a thread of its own from the first `wake` until `close`."""

    def __init__(self, path: Path, connections: Connections, embedder: Embedder | None, smallest: int) -> None:
        self._lock_path = path.with_suffix(".upkeep")
        self._connections = connections
        self._embedder = embedder
        self._smallest = smallest
        self._lock = Lock()
        self._wanted = Event()
        self._is_closing = Event()
        self._thread: Thread | None = None

    def wake(self) -> None:
        """There may be something to do."""
        self._wanted.set()
        with self._lock:
            if self._thread is None and not self._is_closing.is_set():
                self._thread = Thread(target=self._run, name="index upkeep", daemon=True)
                self._thread.start()

    def settle(self) -> None:
        """Do now, in this thread, all that is due, after whoever is at it."""
        with self._elected(fcntl.LOCK_EX), suppress(InterruptedError):
            self._work(Event())

    def close(self) -> None:
        """End the thread: soon, and leaving big work undone."""
        self._is_closing.set()
        self._wanted.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while not self._is_closing.is_set():
            self._wanted.wait()
            self._wanted.clear()
            try:
                with self._elected(fcntl.LOCK_EX | fcntl.LOCK_NB):
                    self._work(self._is_closing)
            except (InterruptedError, BlockingIOError):
                continue
            except LimenError as error:
                # Whoever uses the index meets the same failure, and has somebody to tell it to.
                log.warning("index upkeep failed", extra={"code": error.code, "reason": str(error)})
            except Exception:
                log.exception("index upkeep failed")

    def _work(self, closing: Event) -> None:
        with honest(), self._connections.borrow() as handle:
            sweep(handle, lambda: self._check(handle, closing))
            if self._embedder is not None:
                adopt_model(handle, self._connections, self._embedder)
            while self._merge_some(handle, closing) or self._embed_some(handle, closing):
                pass

    def _merge_some(self, handle: Handle, closing: Event) -> bool:
        with handle.reading as db:
            segments = list_segments(db)
            dead = sorted(read_dead(db, read_state(db)))
        chosen = due(segments, lambda segment: len(_between(dead, segment.first, segment.last)), self._smallest)
        if not chosen:
            return False
        is_small = sum(segment.passages for segment in chosen) <= _FINISHED_ANYWAY
        merge_segments(handle, chosen, set(dead), lambda: self._check(handle, Event() if is_small else closing))
        _drop_dead(handle, _between(dead, chosen[0].first, chosen[-1].last))
        sweep(handle, lambda: self._check(handle, closing))
        return True

    def _embed_some(self, handle: Handle, closing: Event) -> bool:
        self._check(handle, closing)
        if self._embedder is None:
            return False
        return embed_some(handle, self._connections, self._embedder, lambda: self._check(handle, closing))

    def _check(self, handle: Handle, closing: Event) -> None:
        if closing.is_set() or not self._connections.is_current(handle):
            raise InterruptedError("the upkeep of the index is no longer wanted")

    @contextmanager
    def _elected(self, operation: int) -> Generator[None]:
        fd = os.open(self._lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, operation)
            yield
        finally:
            os.close(fd)


def _between(numbers: list[int], first: int, last: int) -> list[int]:
    return numbers[bisect_left(numbers, first) : bisect_right(numbers, last)]


def _drop_dead(handle: Handle, numbers: list[int]) -> None:
    for begin in range(0, len(numbers), _DROPPED_AT_ONCE):
        some = numbers[begin : begin + _DROPPED_AT_ONCE]
        with handle.writing as db:
            for number in some:
                db.execute(indexsql.DROP_DEAD, (number,))
            # Whoever remembers an older state counts the dead anew.
            state = read_state(db)
            change_state(db, dead=state.dead - len(some), generation=state.generation + 1)
