"""What a brain is made of, as values: documents and their records, changes, commits, events."""

from collections.abc import Mapping, Sequence
from typing import Literal, NewType

from msgspec import UNSET, Struct, UnsetType

__all__ = [
    "Append",
    "Brain",
    "BrainId",
    "Change",
    "ChangeEvent",
    "ChangeKind",
    "ChangeSet",
    "Commit",
    "CommitId",
    "Delete",
    "DocumentId",
    "DocumentRecord",
    "DocumentSource",
    "Facts",
    "FileStat",
    "IngestReport",
    "Metadata",
    "Note",
    "Operation",
    "Rename",
    "Visibility",
    "Write",
]

BrainId = NewType("BrainId", str)
DocumentId = NewType("DocumentId", str)
CommitId = NewType("CommitId", str)
Visibility = Literal["private", "tenant", "public"]
DocumentSource = Literal["ingest", "extract", "compile", "reflect"]
ChangeKind = Literal["created", "updated", "deleted", "renamed"]
Metadata = Mapping[str, str | int | float | bool | None]


class Brain(Struct, frozen=True, kw_only=True):
    """A named, isolated set of documents."""

    id: BrainId
    slug: str
    name: str
    visibility: Visibility = "private"
    created_at: str
    updated_at: str


class DocumentRecord(Struct, frozen=True, kw_only=True):
    """What is known of a document besides its content; the field names are the wire's."""

    id: DocumentId
    brain_id: BrainId
    title: str
    path: str
    source: DocumentSource
    content_type: str
    byte_size: int
    checksum_sha256: str
    metadata: Metadata
    commit_sha: CommitId
    created_at: str
    updated_at: str
    deleted_at: str | None = None


class Facts(Struct, frozen=True, kw_only=True):
    """What a writer knows of the content it writes; what is left out is taken from the content or kept as it was."""

    title: str | None = None
    source: DocumentSource | None = None
    content_type: str | None = None
    metadata: Metadata | None = None
    document_id: DocumentId | None = None
    """The id of the document when it is new; made up when this is left out."""


class Write(Struct, frozen=True, tag="write"):
    """Create a document, or replace what it holds."""

    path: str
    content: bytes
    facts: Facts = Facts()
    expected: str | None = None
    """The checksum the document must have now, `""` when it must not exist; None when it does not matter."""


class Append(Struct, frozen=True, tag="append"):
    """Add to the end of a document, or create it."""

    path: str
    content: bytes
    expected: str | None = None


class Delete(Struct, frozen=True, tag="delete"):
    """Take a document away; its record and its history stay."""

    path: str
    expected: str | None = None


class Rename(Struct, frozen=True, tag="rename"):
    """Move a document, over whatever is there; it keeps its id."""

    path: str
    to: str
    expected: str | None = None


Change = Write | Append | Delete | Rename


class ChangeSet(Struct, frozen=True, kw_only=True):
    """Changes that happen together or not at all, and who wants them why."""

    changes: Sequence[Change]
    actor: str
    reason: str
    message: str = ""
    author: str = ""
    email: str = ""
    idempotency_key: str = ""
    """The same key again is answered with the first commit and changes nothing."""


class Operation(Struct, frozen=True, kw_only=True):
    """What a commit did to one document."""

    kind: ChangeKind
    path: str
    old_path: str = ""
    document_id: DocumentId
    checksum_sha256: str = ""
    """Of the content after the commit; empty when it was deleted."""
    byte_size: int = 0


class Commit(Struct, frozen=True, kw_only=True):
    """One accepted set of changes: a link of the journal's chain."""

    seq: int
    id: CommitId
    parent: CommitId
    at: str
    actor: str
    reason: str
    message: str = ""
    author: str = ""
    email: str = ""
    operations: Sequence[Operation] = ()
    git_sha: str = ""
    """The git commit that carries it; empty until git has followed."""
    replayed: bool = False
    """It had happened before, under the same idempotency key."""


class ChangeEvent(Struct, frozen=True, kw_only=True):
    """One document changed; `id` grows by commit and place in it, and a listener resumes after it."""

    id: str
    kind: ChangeKind
    path: str
    old_path: str = ""
    reason: str = ""
    when: str


class FileStat(Struct, frozen=True, kw_only=True):
    """A file or folder of a brain."""

    path: str
    size: int
    mtime: str
    is_dir: bool = False


class Note(Struct, frozen=True, kw_only=True):
    """Something to be remembered."""

    content: str
    title: str | None = None
    path: str = ""
    tags: Sequence[str] = ()
    metadata: Metadata = {}


class IngestReport(Struct, frozen=True, kw_only=True):
    """What came of taking something in; the field names are the wire's."""

    status: Literal["completed", "queued"]
    document_id: str
    path: str
    hash: str
    chunk_count: int
    embedded_count: int
    duration_ms: int
    reused: bool
    job_id: str | UnsetType = UNSET
