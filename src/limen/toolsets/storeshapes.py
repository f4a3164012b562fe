"""What the operations of the store take and answer; contents travel as base64."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from limen.brain.index.ports import Trust
from limen.brain.ingest.jobs import Job
from limen.brain.records import (
    Brain,
    Change,
    ChangeKind,
    Commit,
    CommitId,
    DocumentId,
    DocumentSource,
    FileStat,
    Metadata,
)
from limen.brain.retrieval.answers import Mode, Sort

__all__ = [
    "AppendArgs",
    "BatchArgs",
    "BrainArgs",
    "Changed",
    "Committed",
    "CreateArgs",
    "DeleteArgs",
    "Document",
    "EventsArgs",
    "Format",
    "History",
    "HistoryArgs",
    "IngestArgs",
    "JobArgs",
    "Jobs",
    "JobsArgs",
    "ListArgs",
    "Listing",
    "News",
    "PutArgs",
    "ReadArgs",
    "RenameArgs",
    "SearchArgs",
    "SearchFilters",
    "Stat",
    "StatArgs",
    "Written",
]

Format = Literal["markdown", "text", "pdf", "json"]
Key = Annotated[str, Meta(max_length=512)]


class BrainArgs(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A brain by its id or slug; the default one when none is named."""

    brain: str | None = None


class StatArgs(BrainArgs, frozen=True, kw_only=True):
    """One document or folder."""

    path: str


class ReadArgs(StatArgs, frozen=True, kw_only=True):
    """One document, now or after an earlier commit."""

    at: str = ""


class ListArgs(BrainArgs, frozen=True, kw_only=True):
    """What lies in a folder."""

    folder: str = ""
    recursive: bool = False
    glob: str = ""
    include_generated: bool = False


class _ChangeArgs(BrainArgs, frozen=True, kw_only=True):
    idempotency_key: Key = ""
    if_match: tuple[str, ...] | None = None
    """Checksums one of which the document must have now; `*` stands for any. None: it does not matter."""
    if_absent: bool = False
    """The document must not exist yet."""


class PutArgs(_ChangeArgs, frozen=True, kw_only=True):
    """Create a document, or replace what it holds."""

    path: str
    content: bytes
    content_type: str | None = None


class AppendArgs(_ChangeArgs, frozen=True, kw_only=True):
    """Add to the end of a document."""

    path: str
    content: bytes


class DeleteArgs(_ChangeArgs, frozen=True, kw_only=True):
    """Take a document away."""

    path: str


class RenameArgs(_ChangeArgs, frozen=True, kw_only=True):
    """Move a document."""

    path: str = field(name="from")
    to: str


class CreateArgs(BrainArgs, frozen=True, kw_only=True):
    """Make a new document; without a path one is made from its title."""

    content: str
    path: str | None = None
    title: str | None = None
    content_type: str | None = None
    metadata: Metadata | None = None
    source: DocumentSource = "ingest"
    replace: bool = False
    """Write over what is at the path."""
    idempotency_key: Key = ""


class BatchArgs(BrainArgs, frozen=True, kw_only=True):
    """Changes that happen together or not at all."""

    changes: tuple[Change, ...]
    reason: str
    message: str = ""
    author: str = ""
    email: str = ""
    idempotency_key: Key = ""


class HistoryArgs(BrainArgs, frozen=True, kw_only=True):
    """The newest commits, of one path when it is given."""

    path: str = ""
    before: int | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class SearchFilters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What a document must be like to be found."""

    path_prefix: Annotated[str, Meta(max_length=1024, description="Beginning of the path.")] = ""
    paths: Annotated[tuple[str, ...], Meta(max_length=1000, description="Only these documents.")] = ()
    tags: Annotated[tuple[str, ...], Meta(max_length=64, description="Tags it must all have.")] = ()
    project: Annotated[str, Meta(max_length=128, description="Slug of its project.")] = ""
    type: Annotated[str, Meta(max_length=128, description="Its `type` in the frontmatter.")] = ""
    since: Annotated[str, Meta(max_length=40, description="Not dated before this day, as in 2023-05-08.")] = ""
    until: Annotated[str, Meta(max_length=40, description="Not dated after this day.")] = ""
    trust: Annotated[Trust | None, Meta(description="Whether its owner vouches for it.")] = None


class SearchArgs(BrainArgs, frozen=True, kw_only=True):
    """A search with everything it can be told."""

    query: str
    top_k: int = 10
    mode: Mode = "auto"
    scope: Literal["all", "global", "project", "agent"] = "all"
    sort: Sort = "relevance"
    filters: SearchFilters = SearchFilters()
    question_date: str = ""
    explain: bool = False


class IngestArgs(BrainArgs, frozen=True, kw_only=True):
    """The bytes of a file, and what it is called."""

    name: str
    content: bytes
    as_: Format | None = field(default=None, name="as")
    origin: str = ""
    """Where it came from; its name when left out."""
    content_type: str = ""
    """As its sender declares it."""
    facts: Metadata = {}
    """What else is to be kept about it."""


class JobArgs(BrainArgs, frozen=True, kw_only=True):
    """One file on its way in."""

    id: str


class JobsArgs(BrainArgs, frozen=True, kw_only=True):
    """The newest files on their way in."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class EventsArgs(BrainArgs, frozen=True, kw_only=True):
    """Changes from behind this event on; from now on when none is named."""

    after: str | None = None
    quiet_s: float = 25.0
    """Something is said at least this often."""


class Document(Struct, frozen=True, kw_only=True):
    """What a document holds."""

    path: str
    content: bytes
    checksum_sha256: str


class Stat(FileStat, frozen=True, kw_only=True):
    """A file or folder; a document also has a checksum."""

    checksum_sha256: str = ""
    content_type: str = ""


class Listing(Struct, frozen=True, kw_only=True):
    """The entries of a folder."""

    items: Sequence[FileStat]
    truncated: bool
    """There may be more than are listed."""


class Jobs(Struct, frozen=True, kw_only=True):
    """Files on their way in, newest first."""

    items: Sequence[Job]


class Written(Struct, frozen=True, kw_only=True):
    """One document was changed."""

    commit_sha: CommitId
    document_id: DocumentId
    checksum_sha256: str
    replayed: bool = False


class Changed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One document changed."""

    kind: ChangeKind
    path: str
    old_path: str = ""
    reason: str = ""
    when: str


class News(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a listener is told: that it is heard from now on, that nothing happened, or what did."""

    type: Literal["ready", "ping", "change"]
    id: str = ""
    change: Changed | None = None


class Committed(Struct, frozen=True, kw_only=True):
    """A batch was changed."""

    committed: int
    commit_sha: CommitId
    replayed: bool = False


class History(Struct, frozen=True, kw_only=True):
    """Commits, newest first."""

    brain: Brain
    items: Sequence[Commit]
