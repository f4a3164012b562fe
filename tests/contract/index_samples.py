"""Pages to index, an index that keeps everything in plain lists, and a picture of any index to compare them by."""

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray

from limen.brain.analysis import marks_of, terms_of
from limen.brain.index.columns import DEAD, IS_QUESTION, speaker_key
from limen.brain.index.pieces import about_text
from limen.brain.index.ports import (
    NO_DAY,
    Columns,
    Field,
    Filters,
    IndexView,
    Page,
    Passage,
    PassageIndex,
    Postings,
    StoredPassage,
)
from limen.brain.records import DocumentId
from limen.models.ports import Embedder

WORDS = "amber birch cedar delta ember fjord grove harbor island juniper kettle lantern meadow nectar orchard".split()  # noqa: SIM905
ALL = 10_000
SPEAKER = "Ann: "


class WordEmbedder:
    """Gives each word a random direction of its own, and a text the sum of its words."""

    dimensions = 100

    def __init__(self, name: str = "words/1") -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for place, text in enumerate(texts):
            for word in text.split():
                seed = int.from_bytes(blake2b(f"{self.name} {word}".encode(), digest_size=8).digest(), "little")
                rows[place] += np.random.default_rng(seed).standard_normal(self.dimensions).astype(np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)


def a_page(name: str, *texts: str, **fields: Any) -> Page:
    """A document of these passages."""
    place = 0
    passages: list[Passage] = []
    for text in texts:
        label = len(SPEAKER) if text.startswith(SPEAKER) else 0
        passages.append(Passage(place, place + len(text), text, "Part > First", "Ann Lee", label, text.endswith("?")))
        place += len(text)
    found: dict[str, Any] = {"path": f"memory/global/{name}.md", "title": f"About {name}"} | fields
    return Page(document_id=DocumentId(name), passages=passages, **found)


def put(index: PassageIndex, *pages: Page, removed: Sequence[str] = ()) -> None:
    """Apply as the next commit."""
    before = index.applied()
    assert index.apply(pages, [DocumentId(name) for name in removed], above=before, upto=before + 1)


class MemoryPassageIndex:
    """The oracle: no segments, no files, no cleverness."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._pages: dict[DocumentId, Page] = {}
        self._applied = 0
        self._mark = ""

    def applied(self) -> int:
        return self._applied

    def mark(self) -> str:
        return self._mark

    def count(self, document: DocumentId) -> int:
        return len(self._pages[document].passages) if document in self._pages else 0

    def apply(
        self, pages: Sequence[Page], removed: Sequence[DocumentId], *, above: int, upto: int, mark: str = ""
    ) -> bool:
        if above != self._applied:
            return False
        for document_id in removed:
            self._pages.pop(document_id, None)
        for page in pages:
            self._pages.pop(page.document_id, None)
            self._pages[page.document_id] = page
        self._applied = upto
        self._mark = mark
        return True

    @contextmanager
    def view(self) -> Generator["MemoryView"]:
        yield MemoryView(tuple(self._pages.values()), self._applied, self._embedder)

    def verify(self) -> Sequence[str]:
        return ()

    def clear(self) -> None:
        self._pages.clear()
        self._applied = 0
        self._mark = ""

    def close(self) -> None:
        return None


class MemoryView:
    """A look at it; numbers are places in one list of all passages."""

    def __init__(self, pages: Sequence[Page], applied: int, embedder: Embedder | None) -> None:
        self.applied = applied
        self._pages = pages
        self._all = [
            (place, page, ordinal) for place, page in enumerate(pages) for ordinal in range(len(page.passages))
        ]
        self._embedder = embedder

    @property
    def columns(self) -> Columns:
        texts = [page.passages[ordinal] for _, page, ordinal in self._all]
        counts = np.array([len(page.passages) for page in self._pages], dtype=np.int32)
        return Columns(
            document=np.array([place for place, _, _ in self._all], dtype=np.int32),
            length=np.array([len(terms_of(_said(text))) for text in texts], dtype=np.uint16),
            speaker=np.array([speaker_key(text.speaker) for text in texts], dtype=np.uint32),
            flags=np.array([IS_QUESTION * text.is_question | marks_of(_said(text)) for text in texts], dtype=np.uint8),
            first=(np.cumsum(counts) - counts).astype(np.int32),
            count=counts,
            day=np.array([NO_DAY if page.day is None else page.day for page in self._pages], dtype=np.int32),
        )

    def _terms(self, field: Field) -> Sequence[Sequence[str]]:
        match field:
            case "content":
                return [terms_of(_said(page.passages[ordinal])) for _, page, ordinal in self._all]
            case "heading":
                return [terms_of(page.passages[ordinal].heading) for _, page, ordinal in self._all]
            case "about":
                return [terms_of(about_text(page)) for page in self._pages]

    def postings(self, field: Field, terms: Sequence[str]) -> Sequence[Postings]:
        counted = [Counter(found) for found in self._terms(field)]
        found: list[Postings] = []
        for term in terms:
            ids = [number for number, counts in enumerate(counted) if counts[term]]
            counts = [min(counted[number][term], 255) for number in ids]
            found.append(Postings(np.array(ids, dtype=np.int32), np.array(counts, dtype=np.uint8)))
        return found

    def _frequencies(self) -> Counter[str]:
        return Counter(term for terms in self._terms("content") for term in set(terms))

    def terms_with_prefix(self, prefix: str, limit: int) -> Sequence[str]:
        sizes = self._frequencies()
        return sorted((term for term in sizes if term.startswith(prefix)), key=lambda term: (-sizes[term], term))[
            :limit
        ]

    def similar_terms(self, term: str, limit: int) -> Sequence[str]:
        raise NotImplementedError

    def nearest(
        self, vector: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        numbers = [number for number, (place, _, _) in enumerate(self._all) if allowed is None or allowed[place]]
        if self._embedder is None:
            numbers = []
        chosen = np.array(numbers, dtype=np.int32)
        cosines = self.vectors(chosen) @ vector
        order = np.argsort(-cosines, kind="stable")[:limit]
        return chosen[order], cosines[order]

    def vectors(self, numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        if self._embedder is None:
            return np.zeros((len(numbers), 0), dtype=np.float32)
        return self._embedder.embed([_said(self._passage(number)) for number in numbers.tolist()])

    def _passage(self, number: int) -> Passage:
        _, page, ordinal = self._all[number]
        return page.passages[ordinal]

    def select(self, filters: Filters) -> NDArray[np.bool_] | None:
        if filters == Filters():
            return None
        return np.array([passes(page, filters) for page in self._pages], dtype=np.bool_)

    def passages(self, numbers: Sequence[int]) -> Sequence[StoredPassage]:
        return [_stored(number, *self._all[number][1:]) for number in numbers]


def _said(passage: Passage) -> str:
    return passage.text[passage.label :]


def passes(page: Page, filters: Filters) -> bool:
    """Whether a document is what the filters ask for."""
    day = page.day
    return all(
        (
            not filters.scopes or page.scope in filters.scopes,
            not filters.project or page.project == filters.project,
            filters.tags <= set(page.tags),
            page.path.startswith(filters.path_prefix),
            not filters.paths or page.path in filters.paths,
            not filters.kinds or page.kind in filters.kinds,
            filters.first_day is None or (day is not None and day >= filters.first_day),
            filters.last_day is None or (day is not None and day <= filters.last_day),
            filters.trust is None or page.trust == filters.trust,
        )
    )


def _stored(number: int, page: Page, ordinal: int) -> StoredPassage:
    passage = page.passages[ordinal]
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
        tags=list(page.tags),
        metadata=page.metadata,
        updated_at=page.updated_at,
    )


Spot = tuple[str, int]


class Picture(Struct, frozen=True):
    """All that a view shows of what is alive, without its numbers."""

    applied: int
    passages: Mapping[Spot, Mapping[str, Any]]
    postings: Mapping[tuple[str, str], Mapping[Spot | str, int]]
    prefixes: frozenset[str]
    cosines: Mapping[Spot, float]
    selected: Sequence[frozenset[str]]


FIELDS: Sequence[Field] = ("content", "heading", "about")
QUESTIONS = (
    Filters(),
    Filters(scopes=frozenset({"wiki", "raw"})),
    Filters(project="limen"),
    Filters(tags=frozenset({"red", "blue"})),
    Filters(path_prefix="memory/"),
    Filters(path_prefix="memory/gl"),
    Filters(path_prefix="wiki/d1"),
    Filters(paths=frozenset({"wiki/d1.md", "memory/global/d2.md"})),
    Filters(kinds=frozenset({"note"})),
    Filters(first_day=10, last_day=20),
    Filters(last_day=-5),
    Filters(trust="untrusted", path_prefix="wiki/"),
)


def picture(view: IndexView, vector: NDArray[np.float32] | None) -> Picture:
    """What a view shows."""
    columns = view.columns
    alive = [number for number, flags in enumerate(columns.flags.tolist()) if not flags & DEAD]
    stored = {passage.number: passage for passage in view.passages(alive)}
    spots: dict[int, Spot] = {n: (passage.document_id, passage.ordinal) for n, passage in stored.items()}
    names = {int(columns.document[number]): spot[0] for number, spot in spots.items()}
    facts: dict[Spot, Mapping[str, Any]] = {}
    for number, spot in spots.items():
        place = int(columns.document[number])
        assert int(columns.first[place]) + spot[1] == number
        facts[spot] = {field: getattr(stored[number], field) for field in StoredPassage.__struct_fields__[1:]} | {
            "length": int(columns.length[number]),
            "speaker_key": int(columns.speaker[number]),
            "flags": int(columns.flags[number]),
            "count": int(columns.count[place]),
            "day_column": int(columns.day[place]),
        }
    terms = [*WORDS, "part", "about", "md", "wiki", "d1", "1970", "nobody"]
    postings: dict[tuple[str, str], Mapping[Spot | str, int]] = {}
    for field in FIELDS:
        where: Mapping[int, Spot | str] = names if field == "about" else spots
        for term, found in zip(terms, view.postings(field, terms), strict=True):
            assert (np.diff(found.ids) > 0).all()
            pairs = zip(found.ids.tolist(), found.counts.tolist(), strict=True)
            postings[field, term] = {where[number]: count for number, count in pairs if number in where}
    cosines: dict[Spot, float] = {}
    if vector is not None:
        numbers, found = view.nearest(vector, ALL, None)
        assert (np.diff(found) <= 0).all()
        cosines = {spots[number]: cosine for number, cosine in zip(numbers.tolist(), found.tolist(), strict=True)}
    selected = [
        frozenset(name for place, name in names.items() if mask is None or mask[place])
        for mask in map(view.select, QUESTIONS)
    ]
    return Picture(view.applied, facts, postings, frozenset(view.terms_with_prefix("", ALL)), cosines, selected)


def assert_same(shown: Picture, wanted: Picture) -> None:
    """An index shows what the oracle shows: terms of the dead may still be listed, cosines are nearly the same."""
    assert shown.applied == wanted.applied
    assert shown.passages == wanted.passages
    assert shown.postings == wanted.postings
    assert shown.prefixes >= wanted.prefixes
    assert shown.selected == wanted.selected
    assert shown.cosines == pytest.approx(wanted.cosines, abs=0.02)
