"""One unchanging look at the index in SQLite: a read transaction, and what the process remembers of that state."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from limen.brain.arrays import F32, I8, I32, U8, Bools, np
from limen.brain.index.columns import DEAD, key_of
from limen.brain.index.connections import honest
from limen.brain.index.pieces import CONTENT, FIELDS, OF_PASSAGES, PLACE, SCOPES, TAG, TRUSTS
from limen.brain.index.ports import NO_DAY, Columns, Field, Filters, Postings, StoredPassage
from limen.brain.index.segments import Segment, block_of, chunks_of, read_block
from limen.brain.index.snapshot import Snapshot
from limen.brain.index.stored import KeptDocument, KeptPassage, get_document, get_passage
from limen.brain.index.vectorfile import VectorFile
from limen.brain.index.vectors import distances, nearest_places, sign_bits, unit, words_of_bits
from limen.brain.index.vocabulary import Chunk, most_similar
from limen.db.sqlite import Connection

__all__ = ["SqliteIndexView"]

_RESCORED = 400
_metadata = msgspec.json.Decoder(dict[str, str | int | float | bool | None])


class SqliteIndexView:
    """A look at one state. Used by one thread at a time, and only while its transaction is open."""

    def __init__(self, db: Connection, snapshot: Snapshot, vectors: VectorFile | None, dimensions: int) -> None:
        """`vectors` is where they are, None when those it has are of no use to this process."""
        self._db = db
        self._snapshot = snapshot
        self._vectors = vectors
        self._dimensions = dimensions

    @property
    def applied(self) -> int:
        """The number of the newest commit it knows."""
        return self._snapshot.state.applied

    @property
    def columns(self) -> Columns:
        """The columns of every passage and document, dead ones included."""
        board, passages, documents = self._snapshot.board, self._snapshot.passages, self._snapshot.documents
        return Columns(
            document=board.owner[:passages],
            length=board.length[:passages],
            speaker=board.speaker[:passages],
            flags=self._snapshot.flags,
            first=board.first[:documents],
            count=board.count[:documents],
            day=board.day[:documents],
        )

    def postings(self, field: Field, terms: Sequence[str]) -> Sequence[Postings]:
        """Where each of the terms occurs, dead passages included; empty postings for a term nobody used."""
        with honest():
            return [self._postings(FIELDS[field], term) for term in terms]

    def terms_with_prefix(self, prefix: str, limit: int) -> Sequence[str]:
        """Content terms that begin so, the most frequent first."""
        with honest():
            sizes = _added(pair for chunk in self._chunks(CONTENT, prefix) for pair in chunk.beginning(prefix))
        return sorted(sizes, key=lambda term: (-sizes[term], term))[:limit]

    def similar_terms(self, term: str, limit: int) -> Sequence[str]:
        """Content terms one or two typing errors away, the nearest and most frequent first."""
        with honest():
            sizes = _added(pair for chunk in self._chunks(CONTENT, "") for pair in chunk.resembling(term))
        return most_similar(term, sizes, limit)

    def nearest(self, vector: F32, limit: int, allowed: "Bools | None") -> tuple[I32, F32]:
        """Passages whose vectors are most alike, best first, with cosines; only of `allowed` documents, never dead."""
        places = self._candidates(vector, limit, allowed)
        if not len(places) or self._vectors is None:
            return places[:0], np.empty(0, dtype=np.float32)
        rows, found = self._stored(places, self._vectors)
        wanted = (vector / (float(np.linalg.norm(vector)) or 1.0)).astype(np.float32)
        # Not `@`: for tables this small the threads of a linear algebra library cost more than they save.
        cosines: F32 = np.einsum("ij,j->i", unit(rows), wanted)
        places, cosines = places[found], cosines[found]
        order = np.lexsort((places, -cosines))[:limit]
        return places[order], cosines[order]

    def vectors(self, numbers: I32) -> F32:
        """The vectors of these passages, one row each and of length 1; zeros where there is none yet."""
        if self._vectors is None:
            return np.zeros((len(numbers), self._dimensions), dtype=np.float32)
        return unit(self._stored(numbers, self._vectors)[0])

    def select(self, filters: Filters) -> "Bools | None":
        """Which documents pass, by their number; None when all do."""
        tests = list(self._column_tests(filters))
        with honest():
            tests.extend(self._having(TAG, tag) for tag in filters.tags)
            if filters.path_prefix:
                tests.append(self._beneath(filters.path_prefix))
            if filters.paths:
                tests.append(np.logical_or.reduce([self._having(PLACE, path) for path in filters.paths]))
        return np.logical_and.reduce(tests) if tests else None

    def passages(self, numbers: Sequence[int]) -> Sequence[StoredPassage]:
        """These passages with their text, in the order asked for.

        Raises:
            IndexBroken: what is stored is not what was stored.
            LookupError: one of them is dead.
        """
        if (self._snapshot.flags[list(numbers)] & DEAD).any():
            raise LookupError("dead passages cannot be shown: look at the flags of the columns first")
        with honest():
            documents: dict[int, KeptDocument] = {}
            return [self._passage(number, documents) for number in numbers]

    def _postings(self, field: int, term: str) -> Postings:
        known = self._snapshot
        sealed = known.memory.find(field, term)
        if sealed is None:
            sealed = self._sealed(field, term)
            known.memory.remember(field, term, sealed)
        fresh = known.fresh.find(field, term, self._fresh_rows(field))
        if fresh is None:
            return sealed
        rows, counts = fresh
        base = known.sealed_passages if field in OF_PASSAGES else known.sealed_documents
        return Postings(np.concatenate((sealed.ids, rows + np.int32(base))), np.concatenate((sealed.counts, counts)))

    def _sealed(self, field: int, term: str) -> Postings:
        ids: list[I32] = []
        counts: list[U8] = []
        for segment, base in self._bases(field):
            block = block_of(segment.fields[field], term)
            found = None if block is None else read_block(self._db, block).find(term)
            if found is not None:
                ids.append(found[0] + np.int32(base))
                counts.append(found[1])
        if not ids:
            return Postings(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8))
        return Postings(np.concatenate(ids), np.concatenate(counts)) if len(ids) > 1 else Postings(ids[0], counts[0])

    def _bases(self, field: int) -> Iterator[tuple[Segment, int]]:
        passages = documents = 0
        for segment in self._snapshot.segments:
            yield segment, passages if field in OF_PASSAGES else documents
            passages += segment.passages
            documents += segment.documents

    def _chunks(self, field: int, prefix: str) -> Iterator[Chunk]:
        known = self._snapshot
        for segment in known.segments:
            yield from chunks_of(self._db, segment.vocabularies[field], prefix)
        yield known.fresh.chunk(field, self._fresh_rows(field), prefix)

    def _fresh_rows(self, field: int) -> int:
        known = self._snapshot
        if field in OF_PASSAGES:
            return known.passages - known.sealed_passages
        return known.documents - known.sealed_documents

    def _candidates(self, vector: F32, limit: int, allowed: "Bools | None") -> I32:
        known, board = self._snapshot, self._snapshot.board
        if self._vectors is None or not known.passages or not vector.any():
            return np.empty(0, dtype=np.int32)
        wanted = words_of_bits(sign_bits(vector[None, :]))[:, 0]
        far = distances(board.bits[:, : known.passages], wanted)
        usable = self._usable(allowed)
        return nearest_places(far, max(_RESCORED, 2 * limit), usable).astype(np.int32)

    def _usable(self, allowed: "Bools | None") -> "Bools | None":
        known, board = self._snapshot, self._snapshot.board
        usable = board.has_vector[: known.passages]
        if known.dead:
            usable = usable & ((known.flags & DEAD) == 0)
        if allowed is not None:
            usable = usable & np.repeat(allowed, board.count[: known.documents])
        return None if usable.all() else usable

    def _stored(self, numbers: I32, vectors: VectorFile) -> "tuple[I8, Bools]":
        known, board = self._snapshot, self._snapshot.board
        owner = board.owner[numbers]
        wanted: list[int] = (board.passage[owner] + (numbers - board.first[owner])).tolist()
        expected = board.has_vector[numbers] & ((known.flags[numbers] & DEAD) == 0)
        with honest():
            rows, found = vectors.read(wanted)
            if (expected & ~found).any():
                raise ValueError("a vector is missing")
            # Its signs are in the database too: a file from another time is sound in itself, and is not this one.
            if (expected & (words_of_bits(sign_bits(rows)) != board.bits[:, numbers]).any(axis=0)).any():
                raise ValueError("a vector is of another time")
        return rows, found

    def _column_tests(self, filters: Filters) -> Iterator[Bools]:
        board, upto = self._snapshot.board, self._snapshot.documents
        if filters.scopes:
            yield np.isin(board.scope[:upto], [SCOPES.index(scope) for scope in filters.scopes])
        if filters.project:
            yield board.project[:upto] == np.uint64(key_of(filters.project))
        if filters.kinds:
            yield np.isin(board.kind[:upto], np.array([key_of(kind) for kind in filters.kinds], dtype=np.uint64))
        if filters.trust is not None:
            yield board.trust[:upto] == TRUSTS.index(filters.trust)
        if filters.first_day is not None:
            yield board.day[:upto] >= max(filters.first_day, NO_DAY + 1)
        if filters.last_day is not None:
            yield (board.day[:upto] <= filters.last_day) & (board.day[:upto] != NO_DAY)

    def _having(self, field: int, term: str) -> Bools:
        passing = np.zeros(self._snapshot.documents, dtype=np.bool_)
        passing[self._postings(field, term).ids] = True
        return passing

    def _beneath(self, prefix: str) -> Bools:
        if prefix.endswith("/"):
            return self._having(PLACE, prefix)
        # A folder that begins so stands for all beneath it: what is deeper need not be looked at.
        passing = np.zeros(self._snapshot.documents, dtype=np.bool_)
        found = _added(pair for chunk in self._chunks(PLACE, prefix) for pair in chunk.beginning(prefix))
        for place in (place for place in found if "/" not in place[len(prefix) : -1]):
            passing[self._postings(PLACE, place).ids] = True
        return passing

    def _passage(self, number: int, documents: dict[int, KeptDocument]) -> StoredPassage:
        board = self._snapshot.board
        place = int(board.owner[number])
        passage = get_passage(self._db, int(board.passage[place]) + number - int(board.first[place]))
        if place not in documents:
            documents[place] = get_document(self._db, int(board.number[place]))
        if passage.document != documents[place].number:
            raise ValueError("a passage is not of its document")
        return _stored_passage(number, passage, documents[place])


def _added(pairs: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for term, size in pairs:
        sizes[term] = sizes.get(term, 0) + size
    return sizes


def _stored_passage(number: int, passage: KeptPassage, document: KeptDocument) -> StoredPassage:
    return StoredPassage(
        number=number,
        document_id=document.id,
        ordinal=passage.ordinal,
        path=document.path,
        title=document.title,
        heading=passage.heading,
        speaker=passage.speaker,
        start=passage.start,
        end=passage.end,
        text=passage.text,
        day=document.day,
        scope=document.scope,
        project=document.project,
        kind=document.kind,
        trust=document.trust,
        tags=document.tags,
        metadata=_metadata.decode(document.metadata),
        updated_at=document.updated_at,
    )
