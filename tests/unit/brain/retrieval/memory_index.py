"""An index in plain dictionaries and an embedder of three meanings: what the ports promise, as simply as can be."""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from limen.brain.analysis import terms_of
from limen.brain.index.columns import speaker_key
from limen.brain.index.ports import (
    NO_DAY,
    Columns,
    Field,
    Filters,
    IndexView,
    Page,
    Passage,
    Postings,
    StoredPassage,
    Trust,
)
from limen.brain.paths import project_of, scope_of
from limen.brain.records import DocumentId
from limen.errors import IndexBroken
from limen.models.ports import Embedder


@dataclass(slots=True)
class MemoryIndex:
    """Keeps pages in a dictionary and makes a view by counting words each time."""

    embedder: Embedder | None = None
    pages: dict[DocumentId, Page] = field(default_factory=dict[DocumentId, Page])
    at: int = 0
    last_mark: str = ""
    is_broken: bool = False
    applies: int = 0
    clears: int = 0
    before_apply: Callable[[], None] = lambda: None

    def applied(self) -> int:
        return self.at

    def mark(self) -> str:
        return self.last_mark

    def apply(
        self, pages: Sequence[Page], removed: Sequence[DocumentId], *, above: int, upto: int, mark: str = ""
    ) -> bool:
        self.before_apply()
        if self.is_broken:
            raise IndexBroken("it is broken")
        if self.at != above:
            return False
        for document in removed:
            self.pages.pop(document, None)
        self.pages |= {page.document_id: page for page in pages}
        self.at, self.last_mark = upto, mark
        self.applies += 1
        return True

    def count(self, document: DocumentId) -> int:
        return len(self.pages[document].passages) if document in self.pages else 0

    @contextmanager
    def view(self) -> Generator[IndexView]:
        if self.is_broken:
            raise IndexBroken("it is broken")
        yield MemoryView(list(self.pages.values()), self.at, self.embedder)

    def verify(self) -> Sequence[str]:
        return ["it is broken"] if self.is_broken else []

    def clear(self) -> None:
        self.pages, self.at, self.last_mark, self.is_broken = {}, 0, "", False
        self.clears += 1

    def close(self) -> None:
        return None


class MemoryView:
    """One look at the pages."""

    def __init__(self, pages: Sequence[Page], applied: int, embedder: Embedder | None) -> None:
        self.applied = applied
        self._pages = pages
        self._stored = [
            _stored(number, document, ordinal, passage)
            for number, (document, ordinal, passage) in enumerate(
                (page, ordinal, passage) for page in pages for ordinal, passage in enumerate(page.passages)
            )
        ]
        bodies = [passage.text[passage.label :] for page in pages for passage in page.passages]
        self._counts: dict[Field, list[Counter[str]]] = {
            "content": [Counter(terms_of(text)) for text in bodies],
            "heading": [Counter(terms_of(one.heading)) for one in self._stored],
            "about": [Counter(terms_of(" ".join((page.title, *page.tags, page.path)))) for page in pages],
        }
        self._vectors = embedder.embed(bodies) if embedder and bodies else np.zeros((len(bodies), 1), np.float32)
        counts = [len(page.passages) for page in pages]
        self.columns = Columns(
            document=np.repeat(np.arange(len(pages), dtype=np.int32), counts),
            length=np.array([sum(counter.values()) for counter in self._counts["content"]], np.uint16),
            speaker=np.array([speaker_key(one.speaker) for one in self._stored], np.uint32),
            flags=np.zeros(len(self._stored), np.uint8),
            first=np.cumsum([0, *counts[:-1]], dtype=np.int32)[: len(pages)],
            count=np.array(counts, np.int32),
            day=np.array([NO_DAY if page.day is None else page.day for page in pages], np.int32),
        )

    def postings(self, field: Field, terms: Sequence[str]) -> Sequence[Postings]:
        return [self._postings(self._counts[field], term) for term in terms]

    def _postings(self, counters: Sequence[Counter[str]], term: str) -> Postings:
        ids = [number for number, counter in enumerate(counters) if term in counter]
        return Postings(np.array(ids, np.int32), np.array([min(255, counters[at][term]) for at in ids], np.uint8))

    def terms_with_prefix(self, prefix: str, limit: int) -> Sequence[str]:
        return [term for term in self._vocabulary() if term.startswith(prefix)][:limit]

    def similar_terms(self, term: str, limit: int) -> Sequence[str]:
        near = [(distance(term, other), other) for other in self._vocabulary()]
        return [other for off, other in sorted(near, key=lambda pair: pair[0]) if off <= 2][:limit]

    def _vocabulary(self) -> list[str]:
        totals: Counter[str] = Counter()
        for counter in self._counts["content"]:
            totals.update(counter)
        return [term for term, _ in totals.most_common()]

    def nearest(
        self, vector: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        numbers = np.arange(len(self._stored), dtype=np.int32)
        if allowed is not None:
            numbers = numbers[allowed[self.columns.document]]
        cosines = self._vectors[numbers] @ vector
        best = np.argsort(-cosines, kind="stable")[:limit]
        return numbers[best], cosines[best]

    def vectors(self, numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        return self._vectors[numbers]

    def select(self, filters: Filters) -> NDArray[np.bool_] | None:
        if filters == Filters():
            return None
        return np.array([passes(page, filters) for page in self._pages], np.bool_)

    def passages(self, numbers: Sequence[int]) -> Sequence[StoredPassage]:
        return [self._stored[number] for number in numbers]


class TinyEmbedder:
    """Knows a few words by the direction they point in."""

    name = "tiny"
    dimensions = 4
    meanings = ({"car", "automobile", "vehicle"}, {"cat", "feline"}, {"rain", "storm"})

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.array(
            [
                [len(known & {word.strip("?.!,") for word in text.casefold().split()}) for known in self.meanings]
                for text in texts
            ],
            np.float32,
        )
        padded = np.pad(rows, ((0, 0), (0, 1)))
        lengths = np.linalg.norm(padded, axis=1, keepdims=True)
        return np.divide(padded, lengths, out=np.zeros_like(padded), where=lengths > 0)


def passes(page: Page, filters: Filters) -> bool:
    """Whether a page fulfils every filter."""
    day = NO_DAY if page.day is None else page.day
    return (
        (not filters.scopes or page.scope in filters.scopes)
        and (not filters.project or page.project == filters.project)
        and filters.tags <= set(page.tags)
        and page.path.startswith(filters.path_prefix)
        and (not filters.paths or page.path in filters.paths)
        and (not filters.kinds or page.kind in filters.kinds)
        and (filters.first_day is None or day >= filters.first_day)
        and (filters.last_day is None or NO_DAY < day <= filters.last_day)
        and (filters.trust is None or page.trust == filters.trust)
    )


def distance(one: str, other: str) -> int:
    """How many letters to add, drop or change."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, start=1):
        before, row[0] = row[0], at
        for place, wanted in enumerate(other, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (letter != wanted))
    return row[-1]


def a_page(
    path: str,
    *texts: str,
    day: int | None = None,
    title: str = "",
    heading: str = "",
    tags: Sequence[str] = (),
    kind: str = "",
    trust: Trust = "trusted",
    updated_at: str = "",
) -> Page:
    """A document whose passages are these texts, one behind the other."""
    starts = [sum(len(text) + 2 for text in texts[:at]) for at in range(len(texts))]
    return Page(
        document_id=DocumentId(f"doc-{path}"),
        path=path,
        title=title or path,
        tags=tags,
        day=day,
        scope=scope_of(path),
        project=project_of(path),
        kind=kind,
        trust=trust,
        updated_at=updated_at,
        passages=[
            Passage(start, start + len(text), text, heading=heading) for start, text in zip(starts, texts, strict=True)
        ],
    )


def an_index(*pages: Page, embedder: Embedder | None = None) -> MemoryIndex:
    """An index of these pages."""
    return MemoryIndex(embedder, {page.document_id: page for page in pages}, at=1)


def _stored(number: int, page: Page, ordinal: int, passage: Passage) -> StoredPassage:
    return StoredPassage(
        number=number,
        document_id=page.document_id,
        ordinal=ordinal,
        path=page.path,
        title=page.title,
        heading=passage.heading,
        speaker=passage.speaker,
        start=passage.start,
        end=passage.end,
        text=passage.text,
        day=page.day,
        scope=page.scope,
        project=page.project,
        kind=page.kind,
        trust=page.trust,
        tags=page.tags,
        metadata=page.metadata,
        updated_at=page.updated_at,
    )
