"""What REST takes in queries and bodies; the names are the wire's, and what is not named is refused."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field

from limen.brain.records import DocumentSource, Visibility
from limen.brain.retrieval.answers import Mode, Sort
from limen.toolsets.storeshapes import Format, SearchFilters

__all__ = [
    "BatchBody",
    "BatchOp",
    "DocumentBody",
    "IngestFileBody",
    "IngestUrlBody",
    "ListQuery",
    "NewBrainBody",
    "PathQuery",
    "RecallBody",
    "RememberBody",
    "RenameBody",
    "SearchBody",
    "UploadQuery",
]

PATH_PATTERN: Final = (
    r"^(?!\.[lL][iI][mM][eE][nN](/|$))(?!(.*/)?\.[gG][iI][tT](/|$))(?!(.*/)?\.{0,2}(/|$))[^\x00-\x1f\x7f-\x9f\\]+$"
)
"""Tells clients which paths there are; who judges one is `limen.brain.paths`, which also says what is wrong with it."""

Path = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1024,
        description="Path of the document, as in memory/global/x.md.",
        extra_json_schema={"pattern": PATH_PATTERN},
    ),
]
Query = Annotated[str, Meta(min_length=1, max_length=4096, description="What to look for: words, a question, a date.")]
Title = Annotated[str, Meta(min_length=1, max_length=512, description="Taken from the first heading if omitted.")]
Line = Annotated[str, Meta(max_length=256, pattern=r"^[^\x00-\x1f\x7f<>]*$")]
Slug = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-z0-9][a-z0-9-]*$")]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
MetadataKey = Annotated[str, Meta(min_length=1, max_length=128)]
Tags = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...],
    Meta(max_length=64, description="Words to file it under."),
]


class _Shape(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Nothing but what is named."""


class PathQuery(_Shape, frozen=True, kw_only=True):
    """One document or folder."""

    path: Path


class ListQuery(_Shape, frozen=True, kw_only=True):
    """What to list."""

    dir: Annotated[str, Meta(max_length=1024, description="The folder; the whole brain when left out.")] = ""
    recursive: Annotated[bool, Meta(description="Also what lies in folders of the folder; then no folders.")] = False
    include_generated: Annotated[bool, Meta(description="Also files that Limen made, named _…")] = False
    glob: Annotated[str, Meta(max_length=256, description="Pattern of *, ? and […] for base names.")] = ""


class UploadQuery(_Shape, frozen=True, kw_only=True):
    """What is known of bytes that come without a form."""

    name: Annotated[str, Meta(max_length=255, description="What the file is called, for bytes sent as they are.")] = ""
    as_: Annotated[Format | None, Meta(description="What it is, when its name does not tell.")] = field(
        default=None, name="as"
    )


class NewBrainBody(_Shape, frozen=True, kw_only=True):
    """A brain to be made."""

    name: Annotated[str, Meta(min_length=1, max_length=128, description="What people call it.")]
    slug: Annotated[Slug | None, Meta(description="Its short name; made from the name if omitted.")] = None
    visibility: Annotated[Visibility, Meta(description="Who may see it.")] = "private"


class DocumentBody(_Shape, frozen=True, kw_only=True):
    """A document to be made."""

    content: Annotated[str, Meta(min_length=1, max_length=5_000_000, description="The text.")]
    path: Annotated[Path | None, Meta(description="Where it goes; made from the title if omitted.")] = None
    title: Annotated[Title | None, Meta(description="Taken from the first heading if omitted.")] = None
    content_type: Annotated[
        Annotated[str, Meta(max_length=128, pattern=r"^[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+$")] | None,
        Meta(description="Taken from the path if omitted."),
    ] = None
    metadata: Annotated[
        dict[MetadataKey, str | Whole | float | bool | None] | None, Meta(description="Further facts, flat.")
    ] = None
    source: Annotated[DocumentSource, Meta(description="How it came about.")] = "ingest"


class RenameBody(_Shape, frozen=True, kw_only=True):
    """A document to be moved, over whatever is there."""

    from_: Path = field(name="from")
    to: Path


class _Op(_Shape, frozen=True, kw_only=True, tag_field="type"):
    path: Path
    expected: Annotated[
        Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] | None,
        Meta(description="Checksum it must have now; empty when it must not exist."),
    ] = None


class WriteOp(_Op, frozen=True, kw_only=True, tag="write"):
    """Create a document, or replace what it holds."""

    content_base64: bytes


class AppendOp(_Op, frozen=True, kw_only=True, tag="append"):
    """Add to the end of a document, or create it."""

    content_base64: bytes


class DeleteOp(_Op, frozen=True, kw_only=True, tag="delete"):
    """Take a document away."""


class RenameOp(_Op, frozen=True, kw_only=True, tag="rename"):
    """Move a document."""

    to: Path


BatchOp = WriteOp | AppendOp | DeleteOp | RenameOp


class BatchBody(_Shape, frozen=True, kw_only=True):
    """Changes that happen together or not at all."""

    reason: Annotated[Line, Meta(min_length=1, description="Why, in one line.")]
    ops: Annotated[tuple[BatchOp, ...], Meta(min_length=1, max_length=1024, description="What to do, in order.")]
    message: Annotated[str, Meta(max_length=10_000, description="More about it.")] = ""
    author: Annotated[Line, Meta(description="Who is named in the history.")] = ""
    email: Annotated[Line, Meta(description="Their address.")] = ""


class SearchBody(_Shape, frozen=True, kw_only=True):
    """A search."""

    query: Query
    top_k: Annotated[int, Meta(ge=1, le=100, description="How many passages at the most.")] = 10
    mode: Annotated[Mode, Meta(description="How to look; `auto` chooses.")] = "auto"
    scope: Annotated[
        Literal["all", "global", "project", "agent"], Meta(description="The memory namespace to look in.")
    ] = "all"
    sort: Annotated[Sort, Meta(description="What comes first.")] = "relevance"
    filters: Annotated[SearchFilters, Meta(description="What a document must be like.")] = SearchFilters()
    question_date: Annotated[
        str,
        Meta(max_length=40, description="The day, or the time, at which the question is asked; now if omitted."),
    ] = ""
    explain: Annotated[bool, Meta(description="Tell how the answer came about.")] = False


class RecallBody(_Shape, frozen=True, kw_only=True):
    """A recollection."""

    query: Query
    scope: Annotated[Literal["global", "project", "agent"] | None, Meta(description="The namespace to look in.")] = None
    session_id: Annotated[
        Annotated[str, Meta(min_length=1, max_length=256)] | None, Meta(description="The conversation that weighs in.")
    ] = None
    top_k: Annotated[int, Meta(ge=1, le=50, description="How many passages at the most.")] = 10


class RememberBody(_Shape, frozen=True, kw_only=True):
    """Something to be kept; `note` is another word for `content`."""

    content: Annotated[Annotated[str, Meta(min_length=1)] | None, Meta(description="The memory, in markdown.")] = None
    note: Annotated[Annotated[str, Meta(min_length=1)] | None, Meta(description="The same as content.")] = None
    title: Title | None = None
    path: Annotated[Path | None, Meta(description="Where to keep it; what is there is replaced.")] = None
    tags: Tags = ()
    slug: Annotated[Slug | None, Meta(description="Name of its file within its scope, instead of a path.")] = None
    scope: Annotated[
        Annotated[str, Meta(pattern="^(global|project:[a-z0-9][a-z0-9-]{0,63})$")] | None,
        Meta(description="`global` or `project:SLUG`, for a slug."),
    ] = None


class IngestFileBody(_Shape, frozen=True, kw_only=True):
    """A file of the hub's own machine."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="Beneath `allowed_file_roots`.")]
    as_: Annotated[Format | None, Meta(description="What it is, when its name does not tell.")] = field(
        default=None, name="as"
    )


class IngestUrlBody(_Shape, frozen=True, kw_only=True):
    """An address to be fetched."""

    url: Annotated[
        str, Meta(min_length=1, max_length=8192, description="http or https.", extra_json_schema={"format": "uri"})
    ]
