"""A question to a brain, from text to hits: what it asks for, what may be shown, what fits best, and why.

Filters and constraints hold on every leg, because what lies outside them is masked before anything is ranked.
"""

from collections.abc import Mapping, Sequence

from limen.brain.analysis import terms_of
from limen.brain.arrays import F32
from limen.brain.index.ports import IndexView, PassageIndex
from limen.brain.retrieval.answers import MAX_LIMIT, Hit, Mode, SearchAnswer, SearchRequest, Sort, UsedMode
from limen.brain.retrieval.attempt import Asked, Attempt, Found
from limen.brain.retrieval.calendardays import iso_of
from limen.brain.retrieval.constraints import constrain, is_said_by, prefix_terms
from limen.brain.retrieval.dates import dates_in, read_day
from limen.brain.retrieval.highlights import Marker, snippet
from limen.brain.retrieval.ports import Question, Ranker
from limen.brain.retrieval.query import Query, clean, parse_query
from limen.brain.retrieval.ranking import PassageRanker
from limen.brain.retrieval.reasons import reason
from limen.brain.retrieval.spelling import are_unknown, respell, strongest_first
from limen.brain.retrieval.tracing import trace_of
from limen.clock import monotonic, now_ms
from limen.errors import InvalidArguments
from limen.models.ports import Embedder

__all__ = ["Hit", "Mode", "SearchAnswer", "SearchRequest", "Searcher", "Sort", "UsedMode"]

MOST_TERMS = 64
"""A question of more terms is searched by those that are likely to be the rarest."""
MOST_PREFIX_WORDS = 8
"""So many of the words that begin as asked take part in the ranking."""
RELEVANT = 0.2
"""A hit with this share of the best score may go before it for being newer."""
_DAY_MS = 86_400_000


class Searcher:
    """Searches one brain. Blocking; any thread may call it."""

    def __init__(self, index: PassageIndex, embedder: Embedder | None, ranker: Ranker | None = None) -> None:
        self._index = index
        self._embedder = embedder
        self._ranker = PassageRanker(embedder) if ranker is None else ranker

    def search(self, request: SearchRequest) -> SearchAnswer:
        """The passages that answer best.

        Raises:
            InvalidArguments: a field of the request is out of its bounds; the message names it.
            IndexBroken: the index cannot be trusted.
        """
        began = monotonic()
        asked = _understood(request)
        mode = self._mode(request)
        with self._index.view() as view:
            attempt, found, respelled = self._found(view, asked, mode)
            hits = _hits(asked, found, respelled)
            trace = trace_of(attempt, mode=mode, respelled=respelled) if request.explain else None
        return SearchAnswer(hits=hits, took_ms=round((monotonic() - began) * 1000, 3), mode=mode, trace=trace)

    def _mode(self, request: SearchRequest) -> UsedMode:
        if request.mode == "bm25" or (self._embedder is None and request.mode != "semantic"):
            return "bm25"
        if self._embedder is None:
            raise InvalidArguments("mode: semantic needs an embedder, and none is configured; use bm25", field="mode")
        return "semantic" if request.mode == "semantic" else "hybrid"

    def _found(
        self, view: IndexView, asked: Asked, mode: UsedMode
    ) -> tuple[Attempt, Sequence[Found], Mapping[str, str]]:
        attempt = self._attempt(view, asked, mode, {})
        found = attempt.run()
        if found and attempt.has_words:
            return attempt, found, {}
        respelled = respell(view, _misspelled(view, asked.query)) if attempt.question.terms else {}
        if respelled:
            second = self._attempt(view, asked, mode, respelled)
            better = second.run()
            if better and second.has_words:
                return second, better, respelled
        return attempt, found, {}

    def _attempt(self, view: IndexView, asked: Asked, mode: UsedMode, respelled: Mapping[str, str]) -> Attempt:
        constraints = constrain(view, asked.query, respelled)
        question = self._question(view, asked, mode, respelled)
        allowed = constraints.allow(view.select(asked.request.filters))
        return Attempt(view, self._ranker, asked, question, constraints, allowed)

    def _question(self, view: IndexView, asked: Asked, mode: UsedMode, respelled: Mapping[str, str]) -> Question:
        words = asked.query.words
        terms = [respelled.get(term, term) for term in _terms(asked.query)]
        for atom in asked.query.prefixes:
            terms += prefix_terms(view, atom.text, MOST_PREFIX_WORDS)
        return Question(
            text=clean(asked.request.query),
            words=words,
            terms=_fewer(view, list(dict.fromkeys(terms))) if mode != "semantic" else (),
            vector=self._vector(words) if mode != "bm25" else None,
        )

    def _vector(self, words: Sequence[str]) -> "F32 | None":
        if self._embedder is None or not words:
            return None
        vector = self._embedder.embed([" ".join(words)])[0]
        return vector if vector.any() else None


def _terms(query: Query) -> Sequence[str]:
    return list(dict.fromkeys(term for word in query.words for term in terms_of(word)))


def _misspelled(view: IndexView, query: Query) -> Sequence[str]:
    # A name may be known by whoever bears it and yet never have been written.
    words = [word for word in query.words if not is_said_by(view, word).any()]
    return are_unknown(view, list(dict.fromkeys(term for word in words for term in terms_of(word))))


def _fewer(view: IndexView, terms: Sequence[str]) -> Sequence[str]:
    if len(terms) <= MOST_TERMS:
        return terms
    unknown = set(are_unknown(view, terms))
    kept = set(strongest_first([term for term in terms if term not in unknown])[:MOST_TERMS])
    return [term for term in terms if term in kept]


def _understood(request: SearchRequest) -> Asked:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidArguments(f"limit: must be from 1 to {MAX_LIMIT}, not {request.limit}", field="limit")
    query = parse_query(request.query)
    text = clean(request.query)
    if not text:
        raise InvalidArguments("query: must not be empty", field="query")
    today = now_ms() // _DAY_MS if request.question_date is None else read_day(request.question_date)
    return Asked(request, query, dates_in(text, today=today), today)


def _hits(asked: Asked, found: Sequence[Found], respelled: Mapping[str, str]) -> Sequence[Hit]:
    ordered = _sorted(found, asked.request.sort)
    if asked.request.collapse:
        ordered = _collapsed(ordered)
    marker = Marker(asked.query.words, (*asked.query.phrases, *asked.query.prefixes), respelled)
    return [_hit(asked, one, marker) for one in ordered[: asked.request.limit]]


def _collapsed(found: Sequence[Found]) -> Sequence[Found]:
    """The best passage of each document. More of them do not lift it: in talks, that was measured to mislead."""
    first: dict[str, Found] = {}
    for one in found:
        first.setdefault(one.passage.document_id, one)
    return list(first.values())


def _sorted(found: Sequence[Found], sort: Sort) -> Sequence[Found]:
    if sort == "relevance" or not found:
        return found
    best = max(one.score for one in found) or 1.0

    def newest_first(one: Found) -> tuple[str, str]:
        passage = one.passage
        return (passage.updated_at[:10] if passage.day is None else iso_of(passage.day)), passage.updated_at

    # Sorting keeps the order of equals: by age first, then by what counts for more.
    by_age = sorted(found, key=newest_first, reverse=True)
    if sort == "recency":
        return sorted(by_age, key=lambda one: one.score < RELEVANT * best)
    return sorted(by_age, key=lambda one: -round(one.score / best, 1))


def _hit(asked: Asked, one: Found, marker: Marker) -> Hit:
    passage = one.passage
    marks = marker.mark(passage.text)
    components: dict[str, float] = {name: round(value, 6) for name, value in one.components.items()}
    date_words = max(asked.dates.spans, key=lambda span: span.confidence).words if asked.dates.spans else ""
    return Hit(
        chunk_id=f"{passage.document_id}:{passage.ordinal}",
        document_id=passage.document_id,
        path=passage.path,
        title=passage.title,
        score=round(one.score, 6),
        components=components,
        why=reason(components, marks.words, one.phrases, date_words),
        highlights=marks.spans,
        snippet=snippet(passage.text, marks.spans),
        start=passage.start,
        end=passage.end,
        content=passage.text,
        heading=passage.heading,
        date=None if passage.day is None else iso_of(passage.day),
        scope=passage.scope,
        tags=passage.tags,
        metadata=passage.metadata,
        trust=passage.trust,
        updated_at=passage.updated_at,
    )
