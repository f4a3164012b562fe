"""What retrieval needs of an index, and what an index is given; nothing above it knows how words are kept.

An index numbers its passages from 0 within one view; the passages of a document are neighbours in that numbering.
Numbers mean nothing outside their view. Plain blocking code, for worker threads.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from limen.brain.paths import Scope
from limen.brain.records import DocumentId, Metadata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Columns",
    "Field",
    "Filters",
    "IndexView",
    "Page",
    "Passage",
    "PassageIndex",
    "Postings",
    "StoredPassage",
    "Trust",
]

Field = Literal["content", "heading", "about"]
"""`content` and `heading` are a passage's own words; `about` are its document's: title, tags, path, date."""
Trust = Literal["trusted", "untrusted"]

NO_DAY = -(2**31)
"""In the column of days: the document has no date."""


class Passage(Struct, frozen=True):
    """One piece of a document: `text` is exactly its characters from `start` to `end`."""

    start: int
    end: int
    text: str
    heading: str = ""
    """The headings above it, outermost first, joined by ` > `."""
    speaker: str = ""
    """Who says it, when the document is a conversation."""
    label: int = 0
    """How many of the first characters only name the speaker; vectors leave them out."""
    is_question: bool = False


class Page(Struct, frozen=True, kw_only=True):
    """A document as the index takes it in."""

    document_id: DocumentId
    path: str
    title: str
    tags: Sequence[str] = ()
    day: int | None = None
    """The day it is about or was written, in days since 1970-01-01."""
    scope: Scope = "other"
    project: str = ""
    kind: str = ""
    """The `type` of its frontmatter."""
    trust: Trust = "trusted"
    metadata: Metadata = {}
    updated_at: str = ""
    passages: Sequence[Passage] = ()


class Filters(Struct, frozen=True, kw_only=True):
    """What a hit must be, on every leg; what is empty does not matter."""

    scopes: frozenset[Scope] = frozenset()
    project: str = ""
    tags: frozenset[str] = frozenset()
    """All of them."""
    path_prefix: str = ""
    paths: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    first_day: int | None = None
    last_day: int | None = None
    trust: Trust | None = None


class Postings(Struct, frozen=True):
    """Where one term occurs: ascending numbers of passages (of documents, for `about`), and how often in each."""

    ids: "NDArray[np.int32]"
    counts: "NDArray[np.uint8]"


class Columns(Struct, frozen=True):
    """One value for each passage of a view, by its number."""

    document: "NDArray[np.int32]"
    """The number of its document in this view."""
    length: "NDArray[np.uint16]"
    """How many terms its content has."""
    speaker: "NDArray[np.uint32]"
    """A hash of the speaker's first name, folded; 0 for none."""
    flags: "NDArray[np.uint8]"
    """Bit 0: it is a question. Bit 1: it is dead (its document was changed or deleted) and must not be shown.

    The others are those of `limen.brain.analysis.marks_of`.
    """
    first: "NDArray[np.int32]"
    """For each document: the number of its first passage."""
    count: "NDArray[np.int32]"
    """For each document: how many passages it has."""
    day: "NDArray[np.int32]"
    """For each document: its day, or `NO_DAY`."""


class StoredPassage(Struct, frozen=True, kw_only=True):
    """A passage as the index gives it back, checked against damage."""

    number: int
    document_id: DocumentId
    ordinal: int
    path: str
    title: str
    heading: str
    speaker: str
    start: int
    end: int
    text: str
    day: int | None
    scope: Scope
    project: str
    kind: str
    trust: Trust
    tags: Sequence[str]
    metadata: Metadata
    updated_at: str


class IndexView(Protocol):
    """One unchanging look at an index."""

    @property
    def applied(self) -> int:
        """The number of the newest commit it knows."""
        ...

    @property
    def columns(self) -> Columns:
        """The columns of every passage and document, dead ones included."""
        ...

    def postings(self, field: Field, terms: Sequence[str]) -> Sequence[Postings]:
        """Where each of the terms occurs, dead passages included; empty postings for a term nobody used."""
        ...

    def terms_with_prefix(self, prefix: str, limit: int) -> Sequence[str]:
        """Content terms that begin so, the most frequent first."""
        ...

    def similar_terms(self, term: str, limit: int) -> Sequence[str]:
        """Content terms one or two typing errors away, the nearest and most frequent first."""
        ...

    def nearest(
        self, vector: "NDArray[np.float32]", limit: int, allowed: "NDArray[np.bool_] | None"
    ) -> "tuple[NDArray[np.int32], NDArray[np.float32]]":
        """Passages whose vectors are most alike, best first, with cosines; only of `allowed` documents, never dead."""
        ...

    def vectors(self, numbers: "NDArray[np.int32]") -> "NDArray[np.float32]":
        """The vectors of these passages, one row each and of length 1; zeros where there is none yet."""
        ...

    def select(self, filters: Filters) -> "NDArray[np.bool_] | None":
        """Which documents pass, by their number; None when all do."""
        ...

    def passages(self, numbers: Sequence[int]) -> Sequence[StoredPassage]:
        """These passages with their text, in the order asked for.

        Raises:
            IndexBroken: what is stored is not what was stored.
        """
        ...


class PassageIndex(Protocol):
    """The index of one brain."""

    def applied(self) -> int:
        """The number of the newest commit it has taken in, 0 when it is empty or was just made anew."""
        ...

    def mark(self) -> str:
        """The id of the newest commit it has taken in, as `apply` was told; empty at first."""
        ...

    def apply(
        self, pages: Sequence[Page], removed: Sequence[DocumentId], *, above: int, upto: int, mark: str = ""
    ) -> bool:
        """Put these documents in place of what it knew of them, forget the removed, and be at `upto`; all or nothing.

        Returns False, and does nothing, when the index is no longer at `above`: somebody else was quicker.
        """
        ...

    def count(self, document: DocumentId) -> int:
        """How many passages it has of this document."""
        ...

    def view(self) -> AbstractContextManager[IndexView]:
        """Look at it as it is now.

        Raises:
            IndexBroken: it cannot be trusted.
        """
        ...

    def verify(self) -> Sequence[str]:
        """What is wrong with it, one line each; nothing when it is sound."""
        ...

    def clear(self) -> None:
        """Forget everything, also when it is broken."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
