"""Reads all of an index and tells what is wrong with it; changes nothing."""

from collections.abc import Iterator

from limen.brain.arrays import np
from limen.brain.index import indexsql
from limen.brain.index.pieces import OF_PASSAGES
from limen.brain.index.segments import Segment, list_segments, read_block, read_rows
from limen.brain.index.state import read_dead, read_state
from limen.brain.index.stored import get_document, get_passage, list_fresh
from limen.db.sqlite import Connection

__all__ = ["faults_of"]


def faults_of(db: Connection) -> Iterator[str]:
    """One line for each fault; what cannot be read at all is an error."""
    for (line,) in db.execute(indexsql.CHECK_PAGES):
        if line != "ok":
            yield f"pages: {line}"
    state = read_state(db)
    documents: set[int] = set()
    passages = 0
    for segment in list_segments(db):
        rows = read_rows(db, segment)
        if (len(rows.document), len(rows.flags)) != (segment.documents, segment.passages):
            yield f"segment {segment.id}: its columns are not as long as it says"
        yield from _faults_of_words(db, segment)
        documents.update(rows.document.tolist())
        passages += len(rows.flags)
    waiting = 0
    for piece in list_fresh(db, state.epoch):
        documents.update(piece.rows.document.tolist())
        waiting += len(piece.rows.flags)
    if waiting != state.waiting:
        yield f"{waiting} passages are fresh, and it says {state.waiting}"
    dead = set(read_dead(db, state))
    known = {number for (number,) in db.execute(indexsql.DOCUMENT_NUMBERS)}
    for number in known:
        document = get_document(db, number)
        for place in range(document.passage, document.passage + document.passages):
            get_passage(db, place)
    if known != documents - dead:
        yield f"{len(known ^ (documents - dead))} documents are not both named and indexed"


def _faults_of_words(db: Connection, segment: Segment) -> Iterator[str]:
    for field, stretch in enumerate(segment.fields):
        most = segment.passages if field in OF_PASSAGES else segment.documents
        before = ""
        for place, first in enumerate(stretch.terms):
            words = read_block(db, stretch.first + place)
            terms = list(words.terms)
            if terms[0] != first or (place and first <= before) or sorted(set(terms)) != terms:
                yield f"segment {segment.id}: the terms of field {field} are out of order"
            if len(words.rows) and not 0 <= np.min(words.rows) <= np.max(words.rows) < most:
                yield f"segment {segment.id}: field {field} names rows it does not have"
            before = terms[-1]
