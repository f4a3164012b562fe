"""What speaks for a passage besides its rank: its date, its age, where it lies, what the conversation is about.

Each is a value from 0 to 1 with a weight; together they can lift a passage past better ranked ones, never past much
better ranked ones. Weights that play no part in a question are left out, so that scores keep their scale.
"""

import math
from collections.abc import Mapping, Sequence

from limen.brain.analysis import terms_of
from limen.brain.arrays import I32, np
from limen.brain.index.ports import NO_DAY, IndexView
from limen.brain.paths import Scope
from limen.brain.retrieval.dates import Dates, Span

__all__ = ["DATE", "PHRASE", "SCOPE", "SCOPES", "combined", "context_fit", "date_fit", "recency"]

DATE = 0.6
"""A document of the very day asked for."""
PHRASE = 0.5
"""All the phrases that a question quotes."""
ORDER = 0.3
"""The newest document, when the latest is asked for, or the oldest when the first is."""
CONTEXT = 0.15
"""All the words of the conversation so far."""
SCOPE = 0.04
"""What was distilled comes slightly before what it was distilled from."""
RECENCY = 0.02
"""Of two passages that answer equally well, the newer one."""

SCOPES: Mapping[Scope, float] = {
    "global": 1.0,
    "project": 1.0,
    "agent": 1.0,
    "wiki": 1.0,
    "other": 0.5,
    "raw": 0.5,
    "transcript": 0.5,
}
HALF_LIFE_DAYS = 180.0
TOLD_AFTER_DAYS = 14.0
"""What happened is told in the days after it: a document that much younger still fits half as well."""
TOLD_BEFORE_DAYS = 3.0
MOST_CONTEXT_TERMS = 32


def combined(base: float, parts: Sequence[tuple[float, float]]) -> float:
    """A score from 0 to 1 out of the ranker's and (weight, value) pairs, in whatever order they come."""
    gain = math.fsum(weight * value for weight, value in parts)
    most = math.fsum(weight for weight, _ in parts)
    return max(0.0, min(1.0, base * (1.0 + gain) / (1.0 + most)))


def date_fit(view: IndexView, documents: I32, dates: Dates) -> list[float]:
    """How well each document's day fits the days asked for."""
    days = view.columns.day[documents].tolist()
    return [0.0 if day == NO_DAY else max(_fit(day, span) for span in dates.spans) for day in days]


def _fit(day: int, span: Span) -> float:
    early, late = span.first_day - day, day - span.last_day
    if early <= 0 and late <= 0:
        return span.confidence
    off = early / TOLD_BEFORE_DAYS if early > 0 else late / TOLD_AFTER_DAYS
    return span.confidence * 0.5**off


def recency(view: IndexView, documents: I32, dates: Dates, today: int) -> tuple[float, list[float]]:
    """The weight of age in this question, and how each document stands."""
    days = view.columns.day[documents].tolist()
    if dates.order is None:
        return RECENCY, [0.0 if day == NO_DAY else 0.5 ** (max(0, today - day) / HALF_LIFE_DAYS) for day in days]
    dated = view.columns.day[view.columns.day != NO_DAY]
    oldest, newest = (int(dated.min()), int(dated.max())) if len(dated) else (0, 0)
    width = max(1, newest - oldest)
    newness = [None if day == NO_DAY else (day - oldest) / width for day in days]
    is_latest = dates.order == "latest"
    values = [0.0 if new is None else new if is_latest else 1.0 - new for new in newness]
    return ORDER * dates.order_confidence, values


def context_fit(view: IndexView, numbers: I32, context: Sequence[str]) -> tuple[float, list[float]]:
    """The weight of a conversation's words, and how much of what is rare in them each passage has."""
    terms = sorted({term for text in context for term in terms_of(text)}, key=lambda term: (-len(term), term))
    terms = terms[:MOST_CONTEXT_TERMS]
    if not terms:
        return 0.0, [0.0] * len(numbers)
    total = len(view.columns.document)
    share = np.zeros(len(numbers), np.float64)
    most = 0.0
    for postings in view.postings("content", terms):
        if len(postings.ids):
            rarity = math.log(1.0 + total / len(postings.ids))
            most += rarity
            places = np.minimum(np.searchsorted(postings.ids, numbers), len(postings.ids) - 1)
            share += rarity * (postings.ids[places] == numbers)
    return CONTEXT, (share / most).tolist() if most else share.tolist()
