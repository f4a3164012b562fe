"""Files that take long to read wait here, with their bytes, until some process has taken them in; survives restarts.

One process at a time works through the queue of a brain: whoever holds a lock that dies with its process.
"""

import fcntl
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Literal, NewType

import msgspec

from limen.brain.index.ports import Trust
from limen.brain.ingest import jobsql
from limen.brain.ingest.kinds import As
from limen.brain.records import DocumentId, Metadata
from limen.clock import timestamp
from limen.db.migrations import migrate
from limen.db.sqlite import Connection, connect, transaction
from limen.errors import LimenError, NotFound
from limen.ids import ulid

__all__ = ["Job", "JobId", "JobQueue", "JobRequest", "JobRunner", "Report"]

log = logging.getLogger(__name__)

JobId = NewType("JobId", str)
JobState = Literal["queued", "running", "done", "failed"]
RETRY_S = 0.2

Report = Callable[[str, int, int], None]
"""Tell how far a job is: the stage, how much is done, and of how much."""


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be taken in, and where it goes."""

    name: str
    origin: str
    hash: str
    actor: str
    path: str
    document_id: DocumentId
    as_: As | None = None
    content_type: str = ""
    trust: Trust = "untrusted"
    facts: Metadata = {}


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One file on its way in."""

    id: JobId
    state: JobState
    request: JobRequest
    stage: str
    done: int
    total: int
    chunk_count: int
    code: str
    message: str
    created_at: str
    updated_at: str


class JobQueue:
    """The waiting files of one brain."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._using = Lock()
        self._db: Connection | None = None

    def add(self, request: JobRequest, content: bytes) -> Job:
        """Put a file into the queue; when this returns it cannot be lost."""
        job, now = f"job_{ulid().lower()}", timestamp()
        with self._using, transaction(self._database()) as db:
            db.execute(jobsql.ADD, (job, msgspec.json.encode(request), content, len(content), now, now))
        return self.get(job)

    def get(self, job: str) -> Job:
        """A job by its id.

        Raises:
            NotFound: there is none.
        """
        with self._using:
            row = self._database().execute(jobsql.FIND, (job,)).fetchone()
        if row is None:
            raise NotFound(f"no job {job!r}", job=job)
        return _job(row)

    def list(self, limit: int = 100) -> Sequence[Job]:
        """The latest jobs, newest first."""
        with self._using:
            return [_job(row) for row in self._database().execute(jobsql.LIST, (limit,))]

    def has_pending(self) -> bool:
        """Whether something waits, or was being worked on; looks only when there ever was a job."""
        if not self._path.exists():
            return False
        with self._using:
            ((count,),) = self._database().execute(jobsql.PENDING)
        return count > 0

    def requeue(self) -> None:
        """Put back what a process that is gone had begun."""
        with self._using, transaction(self._database()) as db:
            db.execute(jobsql.REQUEUE)

    def take(self) -> tuple[Job, bytes] | None:
        """The next job and its bytes, now running."""
        with self._using, transaction(self._database()) as db:
            row = db.execute(jobsql.NEXT).fetchone()
            if row is None:
                return None
            content, *rest = row
            job = _job(tuple(rest))
            db.execute(jobsql.CLAIM, (timestamp(), job.id))
            return job, content

    def report(self, job: JobId, stage: str, done: int, total: int) -> None:
        """Tell how far it is."""
        with self._using, transaction(self._database()) as db:
            db.execute(jobsql.REPORT, (stage, done, total, timestamp(), job))

    def finish(self, job: JobId, chunk_count: int) -> None:
        """It is a document now."""
        self._end(job, "done", chunk_count, "", "")

    def fail(self, job: JobId, code: str, message: str) -> None:
        """It cannot become one."""
        self._end(job, "failed", 0, code, message)

    def close(self) -> None:
        """Let go of the queue."""
        with self._using:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _end(self, job: JobId, state: JobState, chunk_count: int, code: str, message: str) -> None:
        with self._using, transaction(self._database()) as db:
            db.execute(jobsql.FINISH, (state, chunk_count, code, message, timestamp(), job))

    def _database(self) -> Connection:
        if self._db is None:
            db = connect(self._path)
            migrate(db, jobsql.STEPS)
            self._db = db
        return self._db


class JobRunner:
    """Works through a queue in a thread of its own, as long as there is something in it."""

    def __init__(self, queue: JobQueue, lock: Path, work: Callable[[Job, bytes, Report], int]) -> None:
        self._queue = queue
        self._lock = lock
        self._work = work
        self._starting = Lock()
        self._stopping = Event()
        self._thread: Thread | None = None

    def kick(self) -> None:
        """See to it that somebody works on what waits."""
        with self._starting:
            if self._stopping.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = Thread(target=self._run, name="limen-jobs", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop after the job at hand; what waits is taken up by the next process."""
        with self._starting:
            self._stopping.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        # The loop ends only when nothing waits, so a job that was added while another process was finishing is seen.
        while not self._stopping.is_set() and self._queue.has_pending():
            with closing(_Descriptor(self._lock)) as lock:
                if lock.is_taken():
                    self._queue.requeue()
                    self._drain()
                    continue
            self._stopping.wait(RETRY_S)

    def _drain(self) -> None:
        while not self._stopping.is_set():
            taken = self._queue.take()
            if taken is None:
                return
            self._do(*taken)

    def _do(self, job: Job, content: bytes) -> None:
        def report(stage: str, done: int, total: int) -> None:
            self._queue.report(job.id, stage, done, total)

        try:
            count = self._work(job, content, report)
        except LimenError as error:
            log.warning("job failed", extra={"job": job.id, "code": error.code, "reason": str(error)})
            self._queue.fail(job.id, error.code, str(error))
        except Exception:
            # A supervisor's last line: one bad file must not stop the files behind it.
            log.exception("job failed", extra={"job": job.id})
            self._queue.fail(job.id, "internal", "an unforeseen failure; the log tells more")
        else:
            self._queue.finish(job.id, count)


class _Descriptor:
    """A lock file that is held while this is open, if nobody else holds it."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def is_taken(self) -> bool:
        """Try to take the lock; true when it is ours."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Let go of it."""
        os.close(self._fd)


def _job(row: tuple[Any, ...]) -> Job:
    ident, state, request, stage, done, total, chunk_count, code, message, created_at, updated_at = row
    return Job(
        id=JobId(ident),
        state=state,
        request=msgspec.json.decode(request, type=JobRequest),
        stage=stage,
        done=done,
        total=total,
        chunk_count=chunk_count,
        code=code,
        message=message,
        created_at=created_at,
        updated_at=updated_at,
    )
