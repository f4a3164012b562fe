"""What speaks for each candidate passage, as numbers that mean the same in every brain; weighs none of it."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from limen.brain.analysis import HAS_NAME, HAS_NAMES, HAS_NUMBER, HAS_QUOTE, HAS_TIME, terms_of
from limen.brain.arrays import F32, I32, I64, np
from limen.brain.days import MONTHS
from limen.brain.index.columns import IS_QUESTION
from limen.brain.index.ports import Columns, IndexView, Postings
from limen.brain.retrieval.candidates import Lexicon, inverse_frequency
from limen.brain.retrieval.neighbours import Neighbourhood, by_document

__all__ = ["OFFSETS", "Asked", "Features", "Kinds", "compare", "describe", "kinds_of", "near"]

Features = Mapping[str, F32]
"""One value for each candidate under each name."""

OFFSETS: Final = (1, -1, 2, -2, 3, -3)
"""Neighbours in the order in which they are asked for words still missing: 1 is the passage before."""
_OFFSETS_IN_MEANING: Final = (1, -1, 2, -2)
_SATURATION = 0.9
_LENGTH_SHARE = 0.4
_SAMPLED = 4096
"""Passages that are enough to know their mean length."""

_MONTHS = frozenset(term for month in MONTHS for term in terms_of(month))
_WHEN = re.compile(
    r"when\b|(?:in |on |since )?(?:what|which) (?:date|day|week|month|year|time)\b|how long\b", re.IGNORECASE
)
_HOW_MANY = re.compile(r"how (?:many|much|often|long|old|far|tall|big)\b", re.IGNORECASE)
_NAMED = re.compile(
    r"where\b|whose?\b|which\b|what(?: \w+)? (?:name|place|city|cities|countr(?:y|ies)|state|town|book|movie|film|show"
    r"|game|band|song|album|artist|author|restaurant|brand|company|school|team|pet)s?\b",
    re.IGNORECASE,
)


class Kinds(Struct, frozen=True):
    """What sort of fact a question asks for, as far as its first words tell in English."""

    when: bool = False
    how_many: bool = False
    named: bool = False


class Asked(Struct, frozen=True):
    """A question as ranking sees it: words that count, people meant, meaning."""

    lexicon: Lexicon
    speakers: Sequence[int]
    """Keys of the speakers it names."""
    kinds: Kinds
    vector: "F32 | None"


def kinds_of(text: str) -> Kinds:
    """What sort of fact is asked for."""
    return Kinds(bool(_WHEN.match(text)), bool(_HOW_MANY.match(text)), bool(_NAMED.match(text)))


def describe(view: IndexView, asked: Asked, candidates: I32) -> Features:
    """Everything but meaning that may speak for or against each candidate."""
    columns = view.columns
    around = Neighbourhood(columns, candidates, OFFSETS)
    return {
        **_of_words(columns, asked.lexicon, around),
        **_of_fields(view, asked.lexicon, around),
        **_of_people(columns, asked.speakers, around),
        **_of_shape(columns, asked.kinds, around),
    }


def compare(view: IndexView, vector: "F32 | None", candidates: I32) -> Features:
    """How near each candidate, what surrounds it and its document are in meaning."""
    if vector is None:
        names = ("meaning", "meaning squared", "meaning before", "meaning after", "meaning of document")
        return dict.fromkeys(names, np.zeros(len(candidates), dtype=np.float32))
    around = Neighbourhood(view.columns, candidates, _OFFSETS_IN_MEANING)
    vectors = view.vectors(around.every.astype(np.int32))
    alike = _from_one(_dots(vectors, vector))
    own = alike[around.at[0]]
    return {
        "meaning": own,
        "meaning squared": np.square(np.maximum(own, np.float32(0))),
        "meaning before": alike[around.at[1]] + alike[around.at[2]],
        "meaning after": alike[around.at[-1]] + alike[around.at[-2]],
        "meaning of document": by_document(_in_window(vectors, alike, around), around.document),
    }


def _in_window(vectors: F32, alike: F32, around: Neighbourhood) -> F32:
    """The cosine of a passage together with half of each neighbour."""
    own, before, after = (around.at[offset] for offset in (0, 1, -1))
    # The square of a sum's length, out of products of neighbours: cheaper than making the sums.
    squares, next_one, next_but_one = (_from_one(_products(vectors, step)) for step in (0, 1, 2))
    beyond = next_one[own] + next_but_one[before] * np.float32(0.5)
    beyond[after == 0] = 0
    beside = (squares[before] + squares[after]) * np.float32(0.25)
    lengths = np.sqrt(np.maximum(squares[own] + beside + next_one[before] + beyond, np.float32(1e-12)))
    dots = alike[own] + (alike[before] + alike[after]) * np.float32(0.5)
    return (dots / lengths).astype(np.float32, copy=False)


def _products(vectors: F32, step: int) -> F32:
    """The product of each row with the one so many rows on; 0 for the last."""
    found = np.zeros(len(vectors), dtype=np.float32)
    upto = max(len(vectors) - step, 0)
    found[:upto] = np.einsum("ij,ij->i", vectors[:upto], vectors[step:])
    return found


def _from_one(values: F32) -> F32:
    """The values as a table in which place 0 stands for nobody."""
    return np.concatenate((np.zeros(1, dtype=np.float32), values))


def _of_words(columns: Columns, lexicon: Lexicon, around: Neighbourhood) -> Features:
    total = float(lexicon.weights.sum())
    if not total:
        names = ("own", "coverage", "document", "spread", *map(near, OFFSETS))
        return dict.fromkeys(names, np.zeros(len(around.candidates), dtype=np.float32))
    weights = lexicon.weights / np.float32(total)
    strength = _strength(columns, lexicon, around)
    have = strength[:, around.at[0]]
    having = around.in_documents(lexicon.postings)
    found: dict[str, F32] = {
        "own": _dots(have.T, weights),
        "coverage": _dots((have > 0).T.astype(np.float32), weights),
        "document": _dots((having > 0).astype(np.float32), weights),
        "spread": _dots(np.log1p(having), weights),
    }
    for offset in OFFSETS:
        there = strength[:, around.at[offset]]
        found[near(offset)] = _dots(np.maximum(there - have, np.float32(0)).T, weights)
        have = np.maximum(have, there)
    return found


def _dots(rows: F32, vector: F32) -> F32:
    # Not `@`: for tables this small the threads of a linear algebra library cost more than they save.
    found: F32 = np.einsum("ij,j->i", rows, vector)
    return found


def near(offset: int) -> str:
    """The name of what a neighbour adds."""
    return f"near{offset:+}"


def _strength(columns: Columns, lexicon: Lexicon, around: Neighbourhood) -> F32:
    """How strongly each term stands in each passage, as BM25 has it: repeating it adds ever less."""
    counts = np.stack([around.counts(postings) for postings in lexicon.postings])
    lengths = np.ones(len(around.every) + 1, dtype=np.float32)
    lengths[1:] = columns.length[around.every]
    mean = max(float(columns.length[:: len(columns.length) // _SAMPLED + 1].mean()), 1.0)
    half = lengths * np.float32(_SATURATION * _LENGTH_SHARE / mean) + np.float32(_SATURATION * (1 - _LENGTH_SHARE))
    strength = counts * np.float32(_SATURATION + 1) / (counts + half)
    return strength.astype(np.float32, copy=False)


def _of_fields(view: IndexView, lexicon: Lexicon, around: Neighbourhood) -> Features:
    """Words in the headings above a passage, and in its document's title, tags, path and date."""
    documents = around.document.astype(np.int64)
    about = view.postings("about", lexicon.terms)
    # A word that stands in titles only tells as much as it is rare among them.
    in_titles = inverse_frequency(about, len(view.columns.first))
    in_titles *= np.array([len(postings.ids) > 0 for postings in about], dtype=np.float32)
    weights = np.where(lexicon.weights > 0, lexicon.weights, in_titles).astype(np.float32)
    shares: F32 = weights / np.float32(max(float(weights.sum()), 1e-6))
    # A month or year that few documents have counts in full, one that most of them have for nothing.
    telling = np.minimum(inverse_frequency(about, len(view.columns.first)), np.float32(1))
    telling *= np.array([_is_of_date(term) for term in lexicon.terms], dtype=np.float32)
    return {
        "heading": _presence(view.postings("heading", lexicon.terms), shares, around.candidates.astype(np.int64)),
        "about": _presence(about, shares, documents),
        "dated": _presence(about, telling, documents),
    }


def _is_of_date(term: str) -> bool:
    return term.isdigit() or term in _MONTHS


def _presence(found: Sequence[Postings], weights: F32, places: I64) -> F32:
    score = np.zeros(len(places), dtype=np.float32)
    for postings, weight in zip(found, weights.tolist(), strict=True):
        if len(postings.ids):
            at = np.minimum(np.searchsorted(postings.ids, places), len(postings.ids) - 1)
            score += np.float32(weight) * (postings.ids[at] == places)
    return score


def _of_people(columns: Columns, speakers: Sequence[int], around: Neighbourhood) -> Features:
    """Whether one of the people named in the question says it; naming one of two tells more than naming both."""
    keys = np.array(speakers, dtype=np.uint32)
    says = np.isin(columns.speaker[around.candidates], keys).astype(np.float32)
    return {"said": says, "said by one": says * np.float32(len(keys) == 1)}


def _of_shape(columns: Columns, kinds: Kinds, around: Neighbourhood) -> Features:
    """What kind of passage it is, of those that somebody says; prose is all alike here."""
    flags = columns.flags[around.candidates]
    is_said = columns.speaker[around.candidates] > 0

    def has(bit: int) -> F32:
        return ((flags & bit > 0) & is_said).astype(np.float32)

    names = (has(HAS_NAME) + has(HAS_NAMES)) / 2
    return {
        "question": has(IS_QUESTION),
        "first": ((columns.first[around.document] == around.candidates) & is_said).astype(np.float32),
        "time": has(HAS_TIME),
        "names": names,
        "quote": has(HAS_QUOTE),
        "time asked": has(HAS_TIME) * np.float32(kinds.when),
        "number asked": has(HAS_NUMBER) * np.float32(kinds.how_many),
        "names asked": names * np.float32(kinds.named),
    }
