"""Keeps an index in step with its store; the index is derived, and whatever is wrong with it is answered by a new one.

Any number of processes may follow at once: each step is taken from a known commit to a later one, and whoever comes
second finds the index further on and goes on from there.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from limen.brain.index.ports import Page, PassageIndex
from limen.brain.ports import DocumentStore
from limen.brain.records import Commit, CommitId, DocumentId, DocumentRecord
from limen.errors import IndexBroken, NotFound, Unreadable

__all__ = ["Batch", "Follower", "Progress"]

log = logging.getLogger(__name__)

_READ_TRIES = 3

Progress = Callable[[int, int], None]
"""Told how far the index is, and how far the store."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Batch:
    """How much is taken in at one step; a commit is never parted."""

    commits: int = 256
    documents: int = 512
    byte_size: int = 16 * 1024 * 1024


class Follower:
    """Brings one index up to its store. Blocking; any thread may call it, and only one at a time does the work."""

    def __init__(
        self,
        store: DocumentStore,
        index: PassageIndex,
        page_of: Callable[[DocumentRecord, bytes], Page],
        batch: Batch = Batch(),  # noqa: B008 - it cannot change
    ) -> None:
        self._batch = batch
        self._store = store
        self._index = index
        self._page_of = page_of
        self._turn = threading.Lock()
        self._left_at = -1
        """Where the index was when it was last seen to belong to this store."""

    def follow(self, upto: int = 0) -> int:
        """Bring the index to the head of the store, at least to `upto`; returns where it is then.

        Raises:
            IndexBroken: a new index broke at once as well.
        """
        return self._once_more(lambda: self._follow(upto, _silent))

    def rebuild(self, progress: Progress | None = None) -> int:
        """Make the index anew from the documents; returns the commit it is at."""
        with self._turn:
            self._clear("asked for")
        return self._once_more(lambda: self._follow(0, progress or _silent))

    def fresh(self, ask: Callable[[], Answer]) -> Answer:
        """What `ask` finds in the index once it knows every document; asked again of a new one when it is broken.

        Raises:
            IndexBroken: a new index broke at once as well.
        """

        def follow_and_ask() -> Answer:
            self._follow(0, _silent)
            return ask()

        return self._once_more(follow_and_ask)

    def _once_more(self, work: Callable[[], Answer]) -> Answer:
        try:
            return work()
        except IndexBroken as error:
            with self._turn:
                self._clear(str(error))
        return work()

    def _clear(self, why: str) -> None:
        log.warning("index made anew", extra={"reason": why})
        self._left_at = -1
        self._index.clear()

    def _follow(self, upto: int, progress: Progress) -> int:
        # A look without the lock: nearly every search finds the index where it was left.
        if self._index.applied() == self._left_at == max(self._store.head(), upto):
            return self._left_at
        with self._turn:
            return self._follow_in_turn(progress)

    def _follow_in_turn(self, progress: Progress) -> int:
        head = self._store.head()
        applied = self._at()
        while applied < head:
            progress(applied, head)
            commits = self._commits(applied, head)
            pages, removed = self._states(commits)
            last = commits[-1] if commits else None
            upto, mark = (last.seq, str(last.id)) if last else (head, self._mark_of(head))
            moved = self._index.apply(pages, removed, above=applied, upto=upto, mark=mark)
            if not moved:
                log.debug("index followed by another", extra={"above": applied})
            applied = upto if moved else self._at()
            head = max(head, self._store.head())
        self._left_at = applied
        progress(applied, head)
        return applied

    def _at(self) -> int:
        applied = self._index.applied()
        if applied == self._left_at:
            return applied
        head = self._store.head()
        if applied > head:
            self._clear(f"it is at commit {applied}, the store only at {head}")
        elif applied and self._index.mark() != self._mark_of(applied):
            self._clear("it was made from another store")
        return self._index.applied()

    def _mark_of(self, seq: int) -> str:
        return str(self._store.commit_id(seq) or "")

    def _commits(self, applied: int, head: int) -> Sequence[Commit]:
        upto = min(head, applied + self._batch.commits)
        newest_first = self._store.commits(before=upto + 1, limit=upto - applied)
        commits = sorted((commit for commit in newest_first if commit.seq > applied), key=lambda commit: commit.seq)
        documents: set[DocumentId] = set()
        size = 0
        for at, commit in enumerate(commits, start=1):
            documents.update(operation.document_id for operation in commit.operations)
            size += sum(operation.byte_size for operation in commit.operations)
            if len(documents) >= self._batch.documents or size >= self._batch.byte_size:
                return commits[:at]
        return commits

    def _states(self, commits: Sequence[Commit]) -> tuple[list[Page], list[DocumentId]]:
        touched = dict.fromkeys(operation.document_id for commit in commits for operation in commit.operations)
        pages: list[Page] = []
        removed: list[DocumentId] = []
        known = {commit.id for commit in commits}
        for document in touched:
            record = self._store.find(document)
            if record is None or record.deleted_at is not None:
                removed.append(document)
            elif not self._comes_later(record, known, commits[-1].seq):
                page = self._page(record)
                if page is None:
                    removed.append(document)
                else:
                    pages.append(page)
        return pages, removed

    def _comes_later(self, record: DocumentRecord, known: Iterable[CommitId], seq: int) -> bool:
        # A document that a later commit changes again is read when that one's turn comes, and only then.
        if record.commit_sha in known:
            return False
        commit = self._store.find_commit(record.commit_sha)
        return commit is not None and commit.seq > seq

    def _page(self, record: DocumentRecord) -> Page | None:
        found: DocumentRecord | None = record
        for _ in range(_READ_TRIES):
            if found is None or found.deleted_at is not None:
                return None
            try:
                return self._page_of(found, self._store.read(found.path))
            except NotFound:
                # It was moved or deleted since its record was read, by a commit that is still to be followed.
                found = self._store.find(record.id)
            except Unreadable as error:
                log.warning("document left out of the index", extra={"path": found.path, "reason": str(error)})
                return None
        return None


def _silent(_applied: int, _head: int) -> None:
    return None
