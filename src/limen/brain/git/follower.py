"""Keeps a brain's git history a moment behind its journal, in one elected process, in the background.

The election is a file lock that dies with its process. While nobody holds it nothing is lost: the journal keeps
every content until git has it.
"""

import fcntl
import logging
import os
import threading
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from limen.brain.git.committer import Committer, Step
from limen.brain.git.ports import FollowedJournal
from limen.clock import monotonic
from limen.errors import LimenError

__all__ = ["GitFollower", "Lag"]

log = logging.getLogger(__name__)

LEAST_PAUSE_S = 0.25
MOST_PAUSE_S = 0.5
PAUSE_PER_CPU = 10.0
"""Seconds of rest for a second of CPU, so that git takes about a tenth of a core while it keeps up."""
ELECTION_PAUSE_S = 1.0
FAILURE_PAUSE_S = 2.0
UNPUBLISHED_PAUSE_S = 2.0
BACKLOG_CPU_S = 0.05
"""When what is open would cost more than this, journal commits are folded together until it does not."""
CONTENT_WEIGHT = 0.05
CLOSE_GRACE_S = 2.0
_POLL_S = 0.05


class Lag(NamedTuple):
    """How far git is behind the journal, and why the user's branch does not show all of it, if it does not."""

    commits: int
    seconds: float
    unpublished: str = ""
    failure: str = ""


class GitFollower:
    """Follows one brain's journal; any number of processes may run one, and one of them does the work."""

    def __init__(self, journal: FollowedJournal, root: Path) -> None:
        self._journal = journal
        self._root = root
        self._committer = Committer(journal, root)
        self._lock_path = root / ".limen" / "git.lock"
        self._lock: int | None = None
        self._working = threading.Lock()
        self._closing = threading.Event()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._cpu_per_commit = 0.001
        self._last: Step | None = None
        """None before the first step, which also mends what happened to git while nobody was looking."""
        self._failure = ""

    def start(self) -> None:
        """Begin to follow in the background."""
        if self._thread is None:
            self._closing.clear()
            self._thread = threading.Thread(target=self._run, name="limen-git", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Catch up as far as a moment allows, then let another process do the work."""
        if self._thread is not None:
            if self._lock is not None:
                self.catch_up(CLOSE_GRACE_S)
            self._closing.set()
            self._hurry.set()
            self._thread.join()
            self._thread = None
        self._resign()

    def lag(self) -> Lag:
        """How far git is behind; any process may ask."""
        open_commits = self._journal.unfollowed(1)
        unpublished = "" if self._last is None else self._last.unpublished
        if not open_commits:
            return Lag(0, 0.0, unpublished, self._failure)
        oldest = open_commits[0]
        behind_s = max(0.0, time.time() - datetime.fromisoformat(oldest.at).timestamp())
        return Lag(self._journal.head() - oldest.seq + 1, behind_s, unpublished, self._failure)

    def catch_up(self, timeout_s: float) -> bool:
        """Wait until git has everything that is in the journal now; False when the time was over first.

        A branch that the user holds (a rebase, a detached HEAD) is not waited for; `lag` tells.
        """
        goal = self._journal.head()
        deadline = monotonic() + timeout_s
        while not self._has(goal):
            if self._thread is None or self._closing.is_set():
                with self._working:
                    self._work_once()
            else:
                self._hurry.set()
            if self._has(goal):
                break
            if monotonic() >= deadline:
                return False
            self._closing.wait(_POLL_S)
        return True

    def _has(self, goal: int) -> bool:
        open_commits = self._journal.unfollowed(1)
        return not open_commits or open_commits[0].seq > goal

    def _run(self) -> None:
        while not self._closing.is_set():
            began = time.thread_time()
            with self._working:
                is_done = self._supervise()
            self._hurry.wait(self._pause_s(time.thread_time() - began, is_done=is_done))
            self._hurry.clear()

    def _supervise(self) -> bool:
        try:
            return self._work_once()
        except Exception:
            # Nobody waits for this thread: what it dies of would never be seen, and git would stand still.
            log.exception("git following failed")
            self._failure = "an error that is in the log"
            return True

    def _pause_s(self, spent_s: float, *, is_done: bool) -> float:
        if self._failure:
            return FAILURE_PAUSE_S
        if self._lock is None:
            return ELECTION_PAUSE_S
        if is_done and self._last is not None and self._last.unpublished:
            return UNPUBLISHED_PAUSE_S
        return min(MOST_PAUSE_S, max(LEAST_PAUSE_S, spent_s * PAUSE_PER_CPU))

    def _work_once(self) -> bool:
        """One step, when this process is or becomes the elected one; returns whether nothing is open now."""
        try:
            if not self._elected():
                return True
            head = self._journal.head()
            followed, _ = self._journal.followed()
            if self._last is not None and followed >= head and not self._last.unpublished and self._has(head):
                return True
            began = time.thread_time()
            self._last = self._committer.step(fold=self._fold(head - followed))
            if self._last.made:
                # A content costs a fraction of a commit, which makes folders anew: an import must not count as many.
                weight = self._last.made + self._last.changes * CONTENT_WEIGHT
                self._cpu_per_commit += 0.5 * ((time.thread_time() - began) / weight - self._cpu_per_commit)
            self._failure = ""
        except (LimenError, OSError) as error:
            # The journal keeps everything; it is tried again, and the lag tells.
            if str(error) != self._failure:
                log.warning("git cannot follow now", extra={"brain": self._root.name, "reason": str(error)})
            self._failure = str(error)
            return True
        return self._has(self._journal.head())

    def _fold(self, backlog: int) -> int:
        return max(1, int(backlog * self._cpu_per_commit / BACKLOG_CPU_S))

    def _elected(self) -> bool:
        if self._lock is not None:
            return True
        self._lock_path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def _resign(self) -> None:
        if self._lock is not None:
            with suppress(OSError):
                os.close(self._lock)
            self._lock = None
