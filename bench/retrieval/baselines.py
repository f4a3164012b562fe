"""Simpler ways to search the same places: FTS5's BM25, vectors alone, and the two joined by reciprocal ranks."""

import re
import time
from collections.abc import Callable, Sequence

import apsw
import numpy as np

from bench.retrieval.datasets import Collection
from bench.retrieval.metrics import Scores
from limen.models.ports import Embedder

__all__ = ["measure"]

DEPTH = 100
RRF_K = 60
_WORD = re.compile(r"\w+")

Search = Callable[[str], Sequence[str]]


def _fts5(collection: Collection) -> Search:
    db = apsw.Connection(":memory:")
    db.execute("create virtual table place using fts5(body, id unindexed, tokenize='porter unicode61')")
    for source in collection.sources:
        for place in source.places:
            db.execute("insert into place (body, id) values (?, ?)", (place.text, place.id))

    def search(query: str) -> Sequence[str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        rows = db.execute(
            "select id from place where place match ? order by bm25(place), rowid limit ?", (words, DEPTH)
        )
        return [found for (found,) in rows]

    return search


def _dense(collection: Collection, embedder: Embedder) -> Search:
    places = [place for source in collection.sources for place in source.places]
    vectors = embedder.embed([place.text for place in places])

    def search(query: str) -> Sequence[str]:
        (vector,) = embedder.embed([query])
        order = np.argsort(-(vectors @ vector), kind="stable")[:DEPTH]
        return [places[number].id for number in order]

    return search


def _rrf(legs: Sequence[Search]) -> Search:
    def search(query: str) -> Sequence[str]:
        scores: dict[str, float] = {}
        for leg in legs:
            for rank, found in enumerate(leg(query), 1):
                scores[found] = scores.get(found, 0.0) + 1 / (RRF_K + rank)
        return sorted(scores, key=lambda found: (-scores[found], found))[:DEPTH]

    return search


def measure(collection: Collection, embedder: Embedder, scores: dict[str, Scores]) -> None:
    """Ask every question in each of these ways."""
    fts5, dense = _fts5(collection), _dense(collection, embedder)
    for name, search in (("fts5-bm25", fts5), ("dense", dense), ("rrf", _rrf([fts5, dense]))):
        found = scores.setdefault(name, Scores(name))
        for question in collection.questions:
            begun = time.process_time()
            ranked = search(question.text)
            took = time.process_time() - begun
            grouped = list(dict.fromkeys(collection.owner[place] for place in ranked))
            groups = frozenset(collection.owner[place] for place in question.answers)
            found.add(ranked, grouped, question.answers, groups, question.category, took)
