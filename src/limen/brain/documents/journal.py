"""Reads a brain's journal, and takes note of what git has; accepts no changes (that is the ledger's).

Any thread may call it: each call borrows a connection of its own.
"""

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from msgspec import Struct

from limen.brain.documents.chain import check_content
from limen.brain.documents.document import Document
from limen.brain.documents.journalrows import commit_from, document_from, rows_of
from limen.brain.documents.journalsql import (
    BENEATH,
    COMMIT_ID_OF,
    COMMIT_OF,
    COMMITS_ABOVE,
    COMMITS_BELOW,
    COMMITS_LIKE,
    CONTENT,
    CONTENTS,
    COUNT,
    DROP_PLACING,
    FOLLOWED,
    FORGET_KEYS,
    HEAD,
    HISTORY,
    JOURNAL_STEPS,
    KEEP_CONTENT,
    LAST_AT,
    MARK_BLOB,
    MARK_FOLLOWED,
    OPERATIONS,
    PLACING,
    PRESENT,
    PRESENT_AFTER,
    PRUNE_CONTENTS,
    RECORD,
    SAME_CONTENT,
    STAMPS,
    UNFOLLOWED,
    UNSETTLED,
)
from limen.brain.records import Commit, CommitId, DocumentId
from limen.db.migrations import migrate
from limen.db.sqlite import Connection, close, connect, connect_readonly, is_damaged, transaction
from limen.errors import JournalBroken, LimenError, StoreFull, StoreUnavailable

__all__ = ["Journal", "Past", "Placing", "open_journal_db", "refusal"]

MAX_IDLE = 8
_EVER = 2**63 - 1
_SAID: tuple[str, ...] = ("actor", "reason", "message", "author", "email")
_HEX = frozenset("0123456789abcdef")


class Placing(Struct, frozen=True):
    """What must lie at a path and is not yet known to survive a power cut; nothing, when the checksum is empty."""

    path: str
    checksum: str
    temp: str
    """The name under which the file waits until it is placed; empty when there is nothing to place."""
    prior: str
    """The stamp of what lay there before; empty when nothing did."""
    seq: int
    since: int
    """The first of the commits whose files there may be lost."""


class Past(Struct, frozen=True):
    """What a path held after some commit, and where that may be found."""

    checksum: str
    git_oid: str


def open_journal_db(path: Path, *, synchronous: bool = True, patience_s: float = 10.0) -> Connection:
    """A connection that may write.

    Raises:
        JournalBroken: the file is damaged.
        StoreFull: there is no room.
        StoreUnavailable: it cannot be opened for writing.
    """
    try:
        db = connect(path, synchronous="FULL" if synchronous else "NORMAL", patience_s=patience_s, checksummed=True)
        try:
            migrate(db, JOURNAL_STEPS)
        except BaseException:
            close(db)
            raise
    except StoreUnavailable as error:
        raise refusal(error) from error
    return db


def refusal(error: StoreUnavailable) -> LimenError:
    """What a failure of the database means for the brain."""
    if is_damaged(error):
        return _broken(str(error))
    if error.facts.get("reason") == "FullError":
        return StoreFull("the disk is full: free some space and try again")
    return error


def _broken(reason: str) -> JournalBroken:
    return JournalBroken(
        "the brain's journal is damaged: put back .limen/journal.db from a backup, or move the folder .limen away "
        "and open the brain again to start a new journal from the files",
        reason=reason,
    )


class _View:
    """A connection for reading, each time in one consistent view."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._transaction = transaction(db, write=False)

    def __enter__(self) -> Connection:
        return self._transaction.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transaction.__exit__(kind, error, trace)

    def close(self) -> None:
        """Let go of it."""
        close(self._db)


class Journal:
    """One brain's journal, for reading by any thread, and for what is noted after the fact."""

    def __init__(self, path: Path, *, is_writable: bool) -> None:
        self._path = path
        self._is_writable = is_writable
        self._idle: deque[_View] = deque()
        self._notes: Connection | None = None
        self._noting = Lock()

    def find(self, path: str) -> Document | None:
        """The document that lies at this path."""
        return document_from(self._one(PRESENT, path))

    def find_id(self, document: DocumentId) -> Document | None:
        """This document, also when it was deleted."""
        return document_from(self._one(RECORD, document))

    def with_content(self, checksum: str) -> Sequence[Document]:
        """The documents that hold exactly this now."""
        return [found for row in self._all(SAME_CONTENT, checksum) if (found := document_from(row))]

    def after(self, path: str, limit: int) -> Sequence[Document]:
        """What is there, in the order of paths, behind this one."""
        return [found for row in self._all(PRESENT_AFTER, path, limit) if (found := document_from(row))]

    def count(self) -> int:
        """How many documents there are."""
        found = self._one(COUNT)
        return found[0] if found else 0

    def stamps(self) -> Mapping[str, str]:
        """Path -> stamp of everything that is there."""
        return dict(self._all(STAMPS))

    def beneath(self, folder: str, *, after: str = "") -> Generator[tuple[str, int, str]]:
        """Path, size and time of what lies beneath a folder, in the order of paths; the caller may stop early."""
        low, high = (f"{folder}/", f"{folder}0") if folder else ("", "\U0010ffff")
        with self._reading() as db:
            cursor = db.cursor()
            try:
                yield from cursor.execute(BENEATH, (max(low, after), high))
            finally:
                cursor.close()

    def has_beneath(self, folder: str) -> bool:
        """Whether something lies beneath this path."""
        return self._one(f"{BENEATH} limit 1", f"{folder}/", f"{folder}0") is not None

    def head(self) -> int:
        """The number of the newest commit."""
        found = self._one(HEAD)
        return found[0] if found else 0

    def commits(self, path: str, before: int | None, limit: int) -> Sequence[Commit]:
        """Commits below a number, newest first."""
        below = _EVER if before is None else before
        with self._reading() as db:
            rows = rows_of(db, HISTORY, path, below, limit) if path else rows_of(db, COMMITS_BELOW, below, limit)
            return [commit_from(db, row) for row in rows]

    def commits_above(self, seq: int, limit: int) -> Sequence[Commit]:
        """Commits above a number, oldest first."""
        with self._reading() as db:
            return [commit_from(db, row) for row in rows_of(db, COMMITS_ABOVE, seq, limit)]

    def commit(self, seq: int) -> Commit | None:
        """The commit of this number."""
        with self._reading() as db:
            rows = rows_of(db, COMMIT_OF, seq)
            return commit_from(db, rows[0]) if rows else None

    def commit_id(self, seq: int) -> CommitId | None:
        """The id of the commit of this number."""
        found = self._one(COMMIT_ID_OF, seq)
        return CommitId(found[0]) if found else None

    def find_commit(self, beginning: str) -> Commit | None:
        """The one commit whose id begins so."""
        if not beginning or not _HEX.issuperset(beginning):
            return None
        with self._reading() as db:
            rows = rows_of(db, COMMITS_LIKE, beginning, f"{beginning}g")
            return commit_from(db, rows[0]) if len(rows) == 1 else None

    def past(self, path: str, seq: int) -> Past | None:
        """What lay at a path after a commit, or None when nothing did."""
        found = self._one(LAST_AT, path, seq)
        if found is None:
            return None
        kind, where, checksum, oid = found
        return None if kind == "deleted" or where != path else Past(checksum, oid)

    def content(self, checksum: str) -> bytes | None:
        """The bytes of this digest, as long as the journal holds them; it does until git has followed.

        Raises:
            JournalBroken: it holds other ones.
        """
        found = self._one(CONTENT, checksum)
        return check_content(checksum, found[0]) if found else None

    def contents(self) -> Generator[tuple[str, bytes]]:
        """Every content the journal holds."""
        with self._reading() as db:
            yield from db.cursor().execute(CONTENTS)

    def chain(self) -> Generator[tuple[int, str, str, str, Mapping[str, str], Sequence[Sequence[str | int]]]]:
        """Number, id, parent, time, what was said and the operations of every commit, from the first on."""
        with self._reading() as db:
            for seq, commit_id, parent, at, *said in db.cursor().execute(COMMITS_ABOVE, (0, -1)):
                words: dict[str, str] = dict(zip(_SAID, said[:5], strict=True))
                yield seq, commit_id, parent, at, words, [row[1:-1] for row in rows_of(db, OPERATIONS, seq)]

    def head_link(self) -> tuple[int, str]:
        """The number and id of the newest commit, as they are kept beside the commits."""
        found = self._one(HEAD)
        return (found[0], found[1]) if found else (0, "")

    def placing(self, path: str) -> Placing | None:
        """What must lie there, as long as that may still be lost."""
        found = self._one(PLACING, path)
        return Placing(*found) if found else None

    def unsettled(self, limit: int) -> Sequence[Placing]:
        """Some of what was placed and may still be lost by a power cut."""
        return [Placing(*row) for row in self._all(UNSETTLED, limit)]

    def settle(self, placings: Sequence[Placing], keys_before: str) -> None:
        """Note that these are safe in place; forget contents that git has too, and old idempotency keys."""
        with self._writing() as db:
            for placing in placings:
                db.execute(DROP_PLACING, (placing.path, placing.seq, placing.temp))
            db.execute(PRUNE_CONTENTS)
            db.execute(FORGET_KEYS, (keys_before,))

    def unfollowed(self, limit: int = 1000) -> Sequence[Commit]:
        """Commits that git does not carry yet, oldest first."""
        with self._reading() as db:
            return [commit_from(db, row) for row in rows_of(db, UNFOLLOWED, limit)]

    def followed(self) -> tuple[int, str]:
        """The newest commit that git carries and the git commit that does; `(0, "")` before the first."""
        found = self._one(FOLLOWED)
        return (found[0], found[1]) if found else (0, "")

    def mark_followed(self, seqs: Sequence[int], git_sha: str, blobs: Mapping[str, str]) -> None:
        """Note that git carries these commits and, reachable and durable, these contents (checksum -> blob)."""
        with self._writing() as db:
            for seq in seqs:
                db.execute(MARK_FOLLOWED, (git_sha, seq))
                for _, _, _, _, _, checksum, *_ in rows_of(db, OPERATIONS, seq):
                    if oid := blobs.get(checksum):
                        db.execute(MARK_BLOB, (oid, seq, checksum))
            for checksum in blobs:
                db.execute(KEEP_CONTENT, (checksum,))

    def close(self) -> None:
        """Let go of every connection that nobody is using."""
        while self._idle:
            self._idle.pop().close()
        with self._noting:
            if self._notes is not None:
                close(self._notes)
            self._notes = None

    def _one(self, statement: str, *values: str | int) -> tuple[Any, ...] | None:
        with self._reading() as db:
            rows = rows_of(db, statement, *values)
            return rows[0] if rows else None

    def _all(self, statement: str, *values: str | int) -> list[tuple[Any, ...]]:
        with self._reading() as db:
            return rows_of(db, statement, *values)

    @contextmanager
    def _reading(self) -> Generator[Connection]:
        try:
            view = self._idle.pop()
        except IndexError:
            view = self._connect()
        try:
            with view as db:
                yield db
        except StoreUnavailable as error:
            view.close()
            raise refusal(error) from error
        except UnicodeDecodeError as error:
            # A page of the log, which has no checksum while it is read: what is there is no text of ours.
            view.close()
            raise _broken(str(error)) from error
        if len(self._idle) < MAX_IDLE:
            self._idle.append(view)
        else:
            view.close()

    def _connect(self) -> "_View":
        try:
            view = _View(connect_readonly(self._path, checksummed=True))
            if not self._is_writable and not _can_read(view):
                # On a disk that takes no writes SQLite cannot make the files by which readers and writers agree.
                view = _View(connect_readonly(self._path, checksummed=True, is_unchanging=True))
        except StoreUnavailable as error:
            raise refusal(error) from error
        return view

    @contextmanager
    def _writing(self) -> Generator[Connection]:
        # Not synced: what is noted here can be found out again, and SQLite keeps the order of commits.
        with self._noting:
            if self._notes is None:
                self._notes = open_journal_db(self._path, synchronous=False)
            try:
                with transaction(self._notes) as db:
                    yield db
            except StoreUnavailable as error:
                raise refusal(error) from error


def _can_read(view: _View) -> bool:
    try:
        with view as db:
            rows_of(db, HEAD)
    except StoreUnavailable as error:
        view.close()
        if is_damaged(error):
            raise
        return False
    return True
