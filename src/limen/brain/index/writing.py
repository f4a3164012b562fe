"""What one `apply` does to the tables, inside the transaction that its caller frames."""

from collections.abc import Sequence

import msgspec

from limen.brain.index import indexsql
from limen.brain.index.merging import join_pieces
from limen.brain.index.pieces import Piece, numbered
from limen.brain.index.ports import Page
from limen.brain.index.segments import SegmentWriter
from limen.brain.index.state import State, add_dead, read_dead, read_state, write_state
from limen.brain.index.stored import find_document, list_fresh, pack_document, pack_fresh, pack_passage
from limen.brain.index.vectorfile import VectorFile
from limen.brain.records import DocumentId
from limen.db.sqlite import Connection

__all__ = ["Writing", "seal_fresh"]


class Writing:
    """One change of the index. `state` is what its caller read in the same transaction; `finish` writes the next."""

    def __init__(self, db: Connection, state: State, vectors: VectorFile | None) -> None:
        """`vectors` is where they are kept, None when those that come are not to be kept."""
        self._db = db
        self._before = state
        self._vectors = vectors
        self._epoch = 0 if vectors is None else state.epoch
        self._document = state.next_document
        self._passage = state.next_passage
        self._deaths = state.deaths
        self._dead = state.dead
        self._waiting = state.waiting
        self._sealed = 0
        self.has_sealed = False

    def forget(self, document_id: DocumentId) -> None:
        """Take away what is known of a document, if anything is; its words stay until they are merged."""
        known = find_document(self._db, document_id)
        if known is None:
            return
        passages = (known.passage, known.passage + known.passages)
        self._db.execute(indexsql.DROP_DOCUMENT, (known.number,))
        self._db.execute(indexsql.DROP_PASSAGES, passages)
        self._deaths += 1
        self._dead += 1
        add_dead(self._db, self._deaths, known.number)

    def add(self, pages: Sequence[Page], drafted: Piece, fresh: int) -> None:
        """Put in these pages, drafted as one piece: as a fresh one up to so many passages, else as a segment."""
        piece = self._keep(pages, drafted)
        coming = len(piece.rows.flags)
        if self._waiting + coming > fresh:
            self.seal([piece])
            return
        self._waiting += coming
        number = int(piece.rows.document[0])
        epoch = 0 if coming and piece.bits is None else self._epoch
        self._db.execute(indexsql.ADD_FRESH, (number, coming, epoch, pack_fresh(number, piece, epoch)))

    def seal(self, coming: Sequence[Piece] = ()) -> None:
        """Make a segment of what is fresh and what is coming."""
        waiting = list_fresh(self._db, self._epoch)
        now = msgspec.structs.replace(self._before, deaths=self._deaths, dead=self._dead)
        dead = set(read_dead(self._db, now))
        joined = join_pieces([*waiting, *coming], dead)
        if joined is not None:
            SegmentWriter(self._db, self._before.next_segment).write(joined, self._epoch)
            self._sealed = 1
        self._db.execute(indexsql.CLEAR_FRESH)
        for number in dead.intersection(int(number) for piece in waiting for number in piece.rows.document):
            self._db.execute(indexsql.DROP_DEAD, (number,))
            self._dead -= 1
        if self._vectors is not None:
            self._vectors.sync()
        self._waiting = 0
        self.has_sealed = True

    def finish(self, upto: int, mark: str, model: str) -> None:
        """Write where the index is now."""
        before = self._before
        state = msgspec.structs.replace(
            before,
            applied=upto,
            mark=mark,
            model=model,
            generation=before.generation + self.has_sealed,
            segments=before.segments + self._sealed,
            next_document=self._document,
            next_passage=self._passage,
            next_segment=before.next_segment + self._sealed,
            deaths=self._deaths,
            dead=self._dead,
            waiting=self._waiting,
        )
        write_state(self._db, state)

    def _keep(self, pages: Sequence[Page], piece: Piece) -> Piece:
        piece = numbered(piece, document=self._document, passage=self._passage)
        first = self._passage
        add_passage = self._db.cursor().execute
        for page in pages:
            row = (self._document, page.document_id, pack_document(self._document, self._passage, page))
            self._db.execute(indexsql.ADD_DOCUMENT, row)
            for ordinal, passage in enumerate(page.passages):
                kept = pack_passage(self._passage, self._document, ordinal, passage)
                add_passage(indexsql.ADD_PASSAGE, (self._passage, kept))
                self._passage += 1
            self._document += 1
        if piece.vectors is None or self._vectors is None:
            return msgspec.structs.replace(piece, vectors=None, bits=None)
        # Before the transaction ends: nobody asks for them sooner, and nobody else has these numbers.
        self._vectors.write(first, piece.vectors)
        return piece


def seal_fresh(db: Connection, vectors: VectorFile) -> None:
    """Make a segment of what is fresh."""
    state = read_state(db)
    writing = Writing(db, state, vectors)
    writing.seal()
    writing.finish(state.applied, state.mark, state.model)
