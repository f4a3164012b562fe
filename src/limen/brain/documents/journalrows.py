"""Documents and commits out of the journal's rows."""

from typing import Any

from limen.brain.documents.chain import Intent, link
from limen.brain.documents.document import Document
from limen.brain.documents.journalsql import OPERATIONS
from limen.brain.records import Commit, CommitId, DocumentId, Operation
from limen.db.sqlite import Connection
from limen.errors import JournalBroken

__all__ = ["commit_from", "document_from", "rows_of"]


def rows_of(db: Connection, statement: str, *values: str | int) -> list[tuple[Any, ...]]:
    """Every row of a statement."""
    # To the end: a statement that is not finished keeps the log from being checkpointed.
    return list(db.execute(statement, values))


def document_from(row: tuple[Any, ...] | None) -> Document | None:
    """A document out of its row."""
    if row is None:
        return None
    fields = (
        "id path title source content_type byte_size checksum metadata commit_id created_at updated_at deleted_at stamp"
    )
    return Document(**dict(zip(fields.split(), row, strict=True)))


def commit_from(db: Connection, row: tuple[Any, ...]) -> Commit:
    """A commit with its operations, out of its row.

    Raises:
        JournalBroken: it is not what was written.
    """
    seq, commit_id, parent, at, actor, reason, message, author, email, git_sha = row
    operations = rows_of(db, OPERATIONS, seq)
    intent = Intent(actor=actor, reason=reason, message=message, author=author, email=email)
    if link(parent, seq, at, intent, [operation[1:-1] for operation in operations]) != commit_id:
        raise JournalBroken(f"commit {seq} is not what was written: run `limen brain verify`", seq=seq)
    return Commit(
        seq=seq,
        id=CommitId(commit_id),
        parent=CommitId(parent),
        at=at,
        actor=actor,
        reason=reason,
        message=message,
        author=author,
        email=email,
        operations=[_operation_from(found) for found in operations],
        git_sha=git_sha,
    )


def _operation_from(row: tuple[Any, ...]) -> Operation:
    _, kind, path, old_path, document_id, checksum, byte_size, _, _ = row
    return Operation(
        kind=kind,
        path=path,
        old_path=old_path,
        document_id=DocumentId(document_id),
        checksum_sha256=checksum,
        byte_size=byte_size,
    )
