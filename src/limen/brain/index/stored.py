"""The rows of documents, passages and fresh pieces: how they are packed, and how they are read."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from limen.brain.index import columns, indexsql, words
from limen.brain.index.pieces import Piece
from limen.brain.index.ports import Page, Passage, Trust
from limen.brain.index.sealing import open_value, seal_value
from limen.brain.index.vectors import bits_of
from limen.brain.paths import Scope
from limen.brain.records import DocumentId
from limen.db.sqlite import Connection

__all__ = [
    "KeptDocument",
    "KeptPassage",
    "find_document",
    "get_document",
    "get_passage",
    "list_fresh",
    "pack_document",
    "pack_fresh",
    "pack_passage",
    "said_in",
]


class KeptDocument(Struct, frozen=True, array_like=True):
    """A document without its passages."""

    number: int
    id: DocumentId
    passage: int
    passages: int
    path: str
    title: str
    day: int | None
    scope: Scope
    project: str
    kind: str
    trust: Trust
    tags: list[str]
    metadata: bytes
    """As JSON, whose numbers have no bounds."""
    updated_at: str


class KeptPassage(Struct, frozen=True, array_like=True):
    """A passage of a document."""

    document: int
    ordinal: int
    start: int
    end: int
    heading: str
    speaker: str
    label: int
    text: str


_documents = msgspec.msgpack.Decoder(KeptDocument)
_passages = msgspec.msgpack.Decoder(KeptPassage)
_pieces = msgspec.msgpack.Decoder(tuple[int, bytes | None, bytes, list[bytes]])


def pack_document(number: int, passage: int, page: Page) -> bytes:
    """A document as its row keeps it."""
    kept = KeptDocument(
        number,
        page.document_id,
        passage,
        len(page.passages),
        page.path,
        page.title,
        page.day,
        page.scope,
        page.project,
        page.kind,
        page.trust,
        list(page.tags),
        msgspec.json.encode(page.metadata),
        page.updated_at,
    )
    return seal_value(number, kept)


def find_document(db: Connection, document_id: DocumentId) -> KeptDocument | None:
    """The document of this id."""
    row = db.execute(indexsql.DOCUMENT_BY_ID, (document_id,)).fetchone()
    if row is None:
        return None
    found = open_value(row[0], row[1], _documents)
    if found.id != document_id:
        raise ValueError("a document is not the one it was")
    return found


def get_document(db: Connection, number: int) -> KeptDocument:
    """The document of this number."""
    return open_value(number, _data(db, indexsql.DOCUMENT, number), _documents)


def pack_passage(number: int, document: int, ordinal: int, passage: Passage) -> bytes:
    """A passage as its row keeps it."""
    place = (passage.start, passage.end, passage.heading, passage.speaker, passage.label)
    return seal_value(number, KeptPassage(document, ordinal, *place, passage.text))


def get_passage(db: Connection, number: int) -> KeptPassage:
    """The passage of this number."""
    return open_value(number, _data(db, indexsql.PASSAGE, number), _passages)


def said_in(number: int, kept: bytes) -> str:
    """What a passage says, without the label that only names who says it."""
    found = open_value(number, kept, _passages)
    return found.text[found.label :]


def pack_fresh(number: int, piece: Piece, epoch: int) -> bytes:
    """A piece as the row of its document keeps it; `epoch` is that of its bits."""
    bits = None if piece.bits is None else piece.bits.tobytes()
    fields = [words.pack(field) for field in piece.fields]
    return seal_value(number, (epoch, bits, columns.pack(piece.rows), fields))


def list_fresh(db: Connection, epoch: int, *, first: int = 0) -> Sequence[Piece]:
    """The pieces of fresh documents from this number on, with those bits that are of this epoch."""
    found: list[Piece] = []
    for number, kept in db.execute(indexsql.FRESH_FROM, (first,)):
        of, bits, rows, fields = open_value(number, kept, _pieces)
        known = columns.unpack(rows)
        usable = bits_of(bits, len(known.flags)) if of == epoch else None
        found.append(Piece(known, tuple(words.unpack(field) for field in fields), bits=usable))
    return found


def _data(db: Connection, statement: str, number: int) -> Any:
    row = db.execute(statement, (number,)).fetchone()
    if row is None:
        raise ValueError("a row of the index is missing")
    return row[0]
