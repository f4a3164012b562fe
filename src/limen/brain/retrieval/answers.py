"""What is asked of a search and what it answers, as values."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from limen.brain.index.ports import Filters, Trust
from limen.brain.paths import Scope
from limen.brain.records import DocumentId, Metadata

__all__ = ["MAX_LIMIT", "Hit", "Mode", "SearchAnswer", "SearchRequest", "Sort", "UsedMode"]

Mode = Literal["auto", "bm25", "semantic", "hybrid"]
UsedMode = Literal["bm25", "semantic", "hybrid"]
Sort = Literal["relevance", "recency", "relevance_then_recency"]

MAX_LIMIT = 100


class SearchRequest(Struct, frozen=True, kw_only=True):
    """A question to a brain."""

    query: str
    limit: int = 10
    mode: Mode = "auto"
    filters: Filters = Filters()
    sort: Sort = "relevance"
    question_date: str | None = None
    """The day the question is asked on, when it is not today."""
    explain: bool = False
    context: Sequence[str] = ()
    """What was said before in the same conversation; weighs in low."""
    collapse: bool = False
    """Only the best passage of each document."""


class Hit(Struct, frozen=True, kw_only=True):
    """One passage that answers."""

    chunk_id: str
    document_id: DocumentId
    path: str
    title: str
    score: float
    """From 0 to 1; comparable between searches of one brain."""
    components: Mapping[str, float]
    why: str
    highlights: Sequence[tuple[int, int]]
    """Character spans within `content`."""
    snippet: tuple[int, int]
    """The span of `content` that shows most of what matched."""
    start: int
    end: int
    """Where `content` stands in its document, in characters."""
    content: str
    heading: str
    date: str | None
    scope: Scope
    tags: Sequence[str]
    metadata: Metadata
    trust: Trust
    updated_at: str = ""


class SearchAnswer(Struct, frozen=True, kw_only=True):
    """What a search found, and how."""

    hits: Sequence[Hit]
    took_ms: float
    mode: UsedMode
    trace: Mapping[str, Any] | None = None
    """How it came about, as plain JSON values, when it was asked for."""
