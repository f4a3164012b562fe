"""A document as the journal keeps it, and how what is known of it comes from its writer and its content."""

from math import isfinite
from typing import Literal

import msgspec
from msgspec import Struct

from limen.brain.markdown import MOST_TITLE_CHARS, read_frontmatter, title_of
from limen.brain.records import (
    BrainId,
    ChangeKind,
    CommitId,
    DocumentId,
    DocumentRecord,
    DocumentSource,
    Facts,
    Metadata,
    Operation,
)
from limen.errors import InvalidArguments
from limen.ids import ulid

__all__ = ["MAX_DOCUMENT_BYTES", "Deed", "Document", "describe", "flat_metadata", "new_document_id"]

MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
_TITLE_WITHIN_BYTES = 64 * 1024
# Our own table: the one of the standard library says what the machine's files say.
_TYPES = {
    "csv": "text/csv",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif",
    "htm": "text/html",
    "html": "text/html",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain",
    "webp": "image/webp",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}


class Document(Struct, frozen=True, kw_only=True):
    """A record with the stamp of its file; `metadata` is JSON text, `content` known only where it was just at hand."""

    id: DocumentId
    path: str
    title: str
    source: DocumentSource
    content_type: str
    byte_size: int
    checksum: str
    metadata: str
    commit_id: CommitId
    created_at: str
    updated_at: str
    deleted_at: str | None = None
    stamp: str = ""
    content: bytes | None = None

    def record(self, brain: BrainId) -> DocumentRecord:
        """As the rest of Limen sees it."""
        return DocumentRecord(
            id=self.id,
            brain_id=brain,
            title=self.title,
            path=self.path,
            source=self.source,
            content_type=self.content_type,
            byte_size=self.byte_size,
            checksum_sha256=self.checksum,
            metadata=msgspec.json.decode(self.metadata),
            commit_sha=self.commit_id,
            created_at=self.created_at,
            updated_at=self.updated_at,
            deleted_at=self.deleted_at,
        )

    def facts(self) -> str:
        """What a commit records of it besides path and content, as JSON."""
        facts = [self.title, self.source, self.content_type, self.metadata]
        return msgspec.json.encode(facts).decode()


class Deed(Struct, frozen=True):
    """An operation and the document after it (or as it last was, when it is deleted)."""

    kind: ChangeKind
    document: Document
    old_path: str = ""

    def operation(self) -> Operation:
        """As a commit tells it."""
        is_gone = self.kind == "deleted"
        return Operation(
            kind=self.kind,
            path=self.document.path,
            old_path=self.old_path,
            document_id=self.document.id,
            checksum_sha256="" if is_gone else self.document.checksum,
            byte_size=0 if is_gone else self.document.byte_size,
        )


class _Described(Struct, frozen=True):
    title: str
    source: DocumentSource
    content_type: str
    metadata: str


def new_document_id() -> DocumentId:
    """An id nobody had before."""
    return DocumentId(f"doc_{ulid().lower()}")


def describe(path: str, content: bytes, facts: Facts, before: Document | None) -> _Described:
    """What is known of a content: said by its writer, else found in it, else as it was before, else made up.

    Raises:
        InvalidArguments: what its writer says cannot be kept.
    """
    source: DocumentSource | Literal[""] = facts.source or (before.source if before else "")
    content_type = facts.content_type or (before.content_type if before else _type_of(path))
    kept = before.metadata if before else "{}"
    metadata = kept if facts.metadata is None else flat_metadata(facts.metadata)
    title = _title_line(facts.title or "") or _title_in(content, content_type)
    return _Described(
        title=title or (before.title if before else _title_line(_stem(path)) or path),
        source=source or "ingest",
        content_type=content_type,
        metadata=metadata,
    )


def flat_metadata(metadata: Metadata) -> str:
    """As canonical JSON.

    Raises:
        InvalidArguments: a value is neither text, number, truth nor null, or cannot be written as JSON.
    """
    for name, value in metadata.items():
        if not _is_flat(value):
            raise InvalidArguments(f"metadata: {name!r} must be text, a number, true, false or null", field="metadata")
        if isinstance(value, float) and not isfinite(value):
            raise InvalidArguments(f"metadata: {name!r} must be a finite number", field="metadata")
    try:
        return msgspec.json.encode(metadata, order="sorted").decode()
    except (UnicodeEncodeError, OverflowError) as error:
        raise InvalidArguments(f"metadata: cannot be written as JSON: {error}", field="metadata") from error


def _is_flat(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _title_in(content: bytes, content_type: str) -> str:
    if not content_type.startswith("text/") or content_type == "text/html":
        return ""
    text = content[:_TITLE_WITHIN_BYTES].decode(errors="replace")
    # Most documents have neither, and the look at this costs less than the reading.
    if "#" not in text and "=" not in text and not text.startswith(("---", "\ufeff")):
        return ""
    return _title_line(title_of(read_frontmatter(text), text) or "")


def _title_line(text: str) -> str:
    return " ".join(text[: MOST_TITLE_CHARS * 2].split())[:MOST_TITLE_CHARS].strip()


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def _type_of(path: str) -> str:
    return _TYPES.get(path.rpartition("/")[2].rpartition(".")[2].lower(), "text/markdown")
