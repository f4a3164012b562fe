"""The passage index of a brain in one SQLite file, which any number of processes and threads read and change."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock

from limen.brain.index.connections import Connections, honest
from limen.brain.index.embedding import progress
from limen.brain.index.pieces import draft
from limen.brain.index.ports import Page
from limen.brain.index.snapshot import Snapshot, catch_up
from limen.brain.index.state import read_state
from limen.brain.index.stored import find_document
from limen.brain.index.upkeep import Upkeep
from limen.brain.index.vectorfile import VectorFile
from limen.brain.index.verifying import faults_of
from limen.brain.index.view import SqliteIndexView
from limen.brain.index.writing import Writing
from limen.brain.records import DocumentId
from limen.db.sqlite import Connection
from limen.errors import IndexBroken
from limen.models.ports import Embedder

__all__ = ["SqlitePassageIndex"]


class SqlitePassageIndex:
    """Derived state: what it holds can be made again from the documents, and is when it is damaged."""

    def __init__(self, path: Path, embedder: Embedder | None, *, fresh_passages: int = 1000) -> None:
        """Open it, or begin a new one; more than `fresh_passages` new passages become a segment."""
        self._connections = Connections(path)
        self._embedder = embedder
        self._dimensions = 0 if embedder is None else embedder.dimensions
        self._upkeep = Upkeep(path, self._connections, embedder, fresh_passages)
        self._fresh = fresh_passages
        self._lock = Lock()
        self._snapshot: Snapshot | None = None

    def applied(self) -> int:
        """The number of the newest commit it has taken in, 0 when it is empty or was just made anew."""
        with honest(), self._connections.borrow() as handle, handle.reading as db:
            return read_state(db).applied

    def mark(self) -> str:
        """The id of the newest commit it has taken in, as `apply` was told; empty at first."""
        with honest(), self._connections.borrow() as handle, handle.reading as db:
            return read_state(db).mark

    def count(self, document: DocumentId) -> int:
        """How many passages it has of this document."""
        with honest(), self._connections.borrow() as handle, handle.reading as db:
            found = find_document(db, document)
        return 0 if found is None else found.passages

    def apply(
        self, pages: Sequence[Page], removed: Sequence[DocumentId], *, above: int, upto: int, mark: str = ""
    ) -> bool:
        """Put these documents in place of what it knew of them, forget the removed, and be at `upto`; all or nothing.

        Returns False, and does nothing, when the index is no longer at `above`: somebody else was quicker.
        """
        if self.applied() != above:
            return False
        pages = list({page.document_id: page for page in pages}.values())
        drafted = draft(pages, self._embedder)
        with honest(), self._connections.borrow() as handle, handle.writing as db:
            state = read_state(db)
            if state.applied != above:
                return False
            is_new = state.next_document == 1
            model = self._embedder.name if is_new and self._embedder is not None else state.model
            vectors = self._connections.vectors(state, self._dimensions) if self._is_own(model) else None
            writing = Writing(db, state, vectors)
            for document_id in (*removed, *(page.document_id for page in pages)):
                writing.forget(document_id)
            if pages:
                writing.add(pages, drafted, self._fresh)
            writing.finish(upto, mark, model)
        if writing.has_sealed:
            self._upkeep.wake()
        return True

    @contextmanager
    def view(self) -> Generator[SqliteIndexView]:
        """Look at it as it is now.

        Raises:
            IndexBroken: it cannot be trusted.
        """
        with ExitStack() as stack:
            with honest():
                db = stack.enter_context(stack.enter_context(self._connections.borrow()).reading)
            snapshot = self._caught_up(db)
            yield SqliteIndexView(db, snapshot, self._vectors(snapshot), self._dimensions)

    def embedding_progress(self) -> tuple[int, int]:
        """How many passages have vectors of the index's model, and how many there are."""
        with honest(), self._connections.borrow() as handle, handle.reading as db:
            return progress(db, "" if self._embedder is None else self._embedder.name)

    def settle(self) -> None:
        """Do now what would be done in the background: merge, and embed what lacks vectors."""
        self._upkeep.settle()

    def verify(self) -> Sequence[str]:
        """What is wrong with it, one line each; nothing when it is sound."""
        try:
            with honest(), self._connections.borrow() as handle, handle.reading as db:
                return list(faults_of(db))
        except IndexBroken as error:
            return [str(error.facts.get("reason", error))]

    def clear(self) -> None:
        """Forget everything, also when it is broken."""
        with self._lock:
            self._snapshot = None
            self._connections.clear()

    def close(self) -> None:
        """Let go of it."""
        self._upkeep.close()
        self._connections.close()

    def _caught_up(self, db: Connection) -> Snapshot:
        # Under the lock from the first read on: states are then seen in the order they came.
        with self._lock:
            before, self._snapshot = self._snapshot, None
            with honest(db):
                state = read_state(db)
                if before is None or before.state != state:
                    before = catch_up(db, state, before, words=-(-self._dimensions // 64))
                    if self._embedder is not None and not (self._is_own(state.model) and before.has_all_vectors):
                        self._upkeep.wake()
            self._snapshot = before
        return before

    def _vectors(self, snapshot: Snapshot) -> VectorFile | None:
        if not self._is_own(snapshot.state.model):
            return None
        return self._connections.vectors(snapshot.state, self._dimensions)

    def _is_own(self, model: str) -> bool:
        return self._embedder is not None and self._embedder.name == model
