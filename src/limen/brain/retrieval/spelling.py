"""What a word may have been meant to be, when nobody ever wrote it; changes nothing by itself."""

from collections.abc import Sequence

from limen.brain.index.ports import IndexView

__all__ = ["are_unknown", "respell", "strongest_first"]

MOST_RESPELLED = 8
LEAST_CHARS = 3
"""Shorter words have neighbours everywhere."""


def are_unknown(view: IndexView, terms: Sequence[str]) -> Sequence[str]:
    """Those of the terms that no passage, heading or document has."""
    known = {
        term
        for field in ("content", "heading", "about")
        for term, postings in zip(terms, view.postings(field, terms), strict=True)
        if len(postings.ids)
    }
    return [term for term in terms if term not in known]


def strongest_first(terms: Sequence[str]) -> Sequence[str]:
    """The terms by how much they are likely to say: longer words are rarer."""
    return sorted(terms, key=lambda term: (-len(term), term))


def respell(view: IndexView, unknown: Sequence[str]) -> dict[str, str]:
    """For each unknown term, the strongest first, the nearest one that is known, when there is any."""
    candidates = [term for term in strongest_first(unknown) if len(term) >= LEAST_CHARS][:MOST_RESPELLED]
    nearest = {term: view.similar_terms(term, 1) for term in candidates}
    return {term: found[0] for term, found in nearest.items() if found}
