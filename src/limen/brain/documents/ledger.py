"""Appends commits to the journal's hash chain, within one transaction of one connection."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from limen.brain.documents.chain import Intent, check_content, link
from limen.brain.documents.document import Deed, Document
from limen.brain.documents.journal import Placing
from limen.brain.documents.journalrows import commit_from, document_from
from limen.brain.documents.journalsql import (
    ADD_COMMIT,
    ADD_CONTENT,
    ADD_KEY,
    ADD_OPERATION,
    ADVANCE,
    BENEATH,
    COMMIT_OF,
    CONTENT,
    HEAD,
    KEY,
    PLACING,
    PLACINGS,
    PRESENT,
    PUT_DOCUMENT,
    PUT_PLACING,
    TAKE_DOCUMENT,
)
from limen.brain.records import Commit, CommitId
from limen.db.sqlite import Connection, Transaction, Value, transaction
from limen.errors import JournalBroken

__all__ = ["Ledger"]


class Ledger:
    """The writing side of the journal; used by one thread."""

    def __init__(self, db: Connection) -> None:
        self._execute: Callable[[str, Sequence[Value]], Iterable[tuple[Any, ...]]] = db.cursor().execute
        self._db = db
        self._transaction = transaction(db)

    def transaction(self) -> Transaction:
        """Frame what belongs together; when it ends well it cannot be lost any more."""
        return self._transaction

    def head(self) -> tuple[int, str]:
        """The number and the id of the newest commit."""
        found = self._rows(HEAD)
        if not found:
            raise JournalBroken("the journal has lost its head: run `limen brain verify`")
        return found[0][0], found[0][1]

    def find(self, path: str) -> Document | None:
        """The document that lies at a path."""
        found = self._rows(PRESENT, path)
        return document_from(found[0]) if found else None

    def beneath(self, folder: str) -> Sequence[str]:
        """The paths of the documents beneath a path; a few of them are enough to know that it is a folder."""
        return [path for path, _, _ in self._rows(BENEATH, f"{folder}/", f"{folder}0")]

    def content(self, checksum: str) -> bytes | None:
        """The bytes of this digest, if the journal holds them.

        Raises:
            JournalBroken: it holds other ones.
        """
        found = self._rows(CONTENT, checksum)
        return check_content(checksum, found[0][0]) if found else None

    def placing(self, path: str) -> Placing | None:
        """What must lie at a path, as long as that may still be lost."""
        found = self._rows(PLACING, path)
        return Placing(*found[0]) if found else None

    def placings(self) -> Sequence[Placing]:
        """All that may still be lost."""
        return [Placing(*row) for row in self._rows(PLACINGS)]

    def find_key(self, key: str) -> tuple[str, int] | None:
        """The digest and the commit of an idempotency key that was used."""
        found = self._rows(KEY, key)
        return (found[0][0], found[0][1]) if found else None

    def commit(self, seq: int) -> Commit:
        """The commit of this number."""
        return commit_from(self._db, self._rows(COMMIT_OF, seq)[0])

    def append(self, intent: Intent, deeds: Sequence[Deed], at: str) -> Commit:
        """Add a commit to the end of the chain."""
        head, parent = self.head()
        seq = head + 1
        rows = [_operation_row(deed) for deed in deeds]
        commit_id = link(parent, seq, at, intent, rows)
        said = (intent.actor, intent.reason, intent.message, intent.author, intent.email)
        self._execute(ADD_COMMIT, (seq, commit_id, parent, at, *said))
        for place, row in enumerate(rows):
            self._execute(ADD_OPERATION, (seq, place, *row))
        self._execute(ADVANCE, (seq, commit_id, head, parent))
        return Commit(
            seq=seq,
            id=commit_id,
            parent=CommitId(parent),
            at=at,
            actor=intent.actor,
            reason=intent.reason,
            message=intent.message,
            author=intent.author,
            email=intent.email,
            operations=[deed.operation() for deed in deeds],
        )

    def add_content(self, checksum: str, content: bytes, seq: int) -> None:
        """Keep these bytes of a commit until git has them and they are safe in place."""
        self._execute(ADD_CONTENT, (checksum, seq, content))

    def add_key(self, key: str, digest: str, commit: Commit) -> None:
        """Remember what an idempotency key was used for."""
        self._execute(ADD_KEY, (key, digest, commit.seq, commit.at))

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Put these records in place of what was known of the documents."""
        # All are taken out first: two that change places may not lie at one path even for a moment.
        for document in documents:
            self._execute(TAKE_DOCUMENT, (document.id,))
        for document in documents:
            self._execute(PUT_DOCUMENT, msgspec.structs.astuple(document)[:-1])

    def put_placing(self, placing: Placing) -> None:
        """Remember what must lie at a path."""
        self._execute(PUT_PLACING, msgspec.structs.astuple(placing))

    def execute(self, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        """Run another statement of the journal."""
        return self._rows(statement, *values)

    def _rows(self, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        return list(self._execute(statement, values))


def _operation_row(deed: Deed) -> Sequence[str | int]:
    operation = deed.operation()
    return (
        operation.kind,
        operation.path,
        operation.old_path,
        operation.document_id,
        operation.checksum_sha256,
        operation.byte_size,
        "" if deed.kind == "deleted" else deed.document.facts(),
    )
