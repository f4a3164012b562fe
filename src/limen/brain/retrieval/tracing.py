"""How an answer came about, as plain JSON values for whoever asks to have it explained."""

from collections.abc import Mapping
from typing import Any

from limen.brain.arrays import np
from limen.brain.retrieval.answers import UsedMode
from limen.brain.retrieval.attempt import Attempt
from limen.brain.retrieval.calendardays import iso_of
from limen.brain.retrieval.ports import Ranked
from limen.brain.retrieval.query import Atom, format_query

__all__ = ["trace_of"]

SHOWN = 5


def trace_of(attempt: Attempt, *, mode: UsedMode, respelled: Mapping[str, str]) -> Mapping[str, Any]:
    """Everything that decided what was shown and in which order."""
    return {
        "query": _query(attempt),
        "mode": {"asked": attempt.asked.request.mode, "used": mode},
        "dates": _dates(attempt),
        "documents": _documents(attempt),
        "legs": [leg for name, ranked in attempt.legs.items() for leg in _legs(attempt, name, ranked)],
        "fallbacks": [f"nobody wrote {term!r}, searched for {instead!r}" for term, instead in respelled.items()],
        "weights": dict(attempt.weights),
        "depth": attempt.depth,
        "index_at": attempt.view.applied,
    }


def _query(attempt: Attempt) -> Mapping[str, Any]:
    query = attempt.asked.query
    return {
        "understood": format_query(query),
        "must": [[_told(atom) for atom in group] for group in query.must],
        "should": [_told(atom) for atom in query.should],
        "must_not": [_told(atom) for atom in query.must_not],
        "words": list(attempt.question.words),
        "terms": list(attempt.question.terms),
    }


def _told(atom: Atom) -> Mapping[str, str]:
    return {"kind": atom.kind, "text": atom.text}


def _dates(attempt: Attempt) -> Mapping[str, Any]:
    dates = attempt.asked.dates
    return {
        "today": iso_of(attempt.asked.today),
        "spans": [
            {
                "first": iso_of(span.first_day),
                "last": iso_of(span.last_day),
                "confidence": round(span.confidence, 3),
                "words": span.words,
            }
            for span in dates.spans
        ],
        "order": dates.order,
        "order_words": dates.order_words,
    }


def _documents(attempt: Attempt) -> Mapping[str, int]:
    total = len(attempt.view.columns.first)
    allowed = attempt.allowed
    return {"known": total, "allowed": total if allowed is None else int(np.count_nonzero(allowed))}


def _legs(attempt: Attempt, name: str, ranked: Ranked) -> list[Mapping[str, Any]]:
    columns = {name: ranked.scores} | {f"{name}.{part}": values for part, values in ranked.components.items()}
    legs: list[Mapping[str, Any]] = []
    for leg, values in columns.items():
        best = np.lexsort((ranked.numbers, -values))[:SHOWN]
        shown = [at for at in best.tolist() if values[at] > 0]
        passages = attempt.view.passages([int(ranked.numbers[at]) for at in shown])
        legs.append(
            {
                "name": leg,
                "candidates": int(np.count_nonzero(values > 0)),
                "best": [
                    {
                        "chunk_id": f"{one.document_id}:{one.ordinal}",
                        "path": one.path,
                        "value": round(float(values[at]), 6),
                    }
                    for at, one in zip(shown, passages, strict=True)
                ],
            }
        )
    return legs
