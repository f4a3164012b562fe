"""Ranks passages by words, neighbours, meaning, people and shape in one weighted sum; knows no filters, reads no dates.

The weights for talks were fitted on five conversations, those for prose set by hand on manual pages; see `balance`.
"""

from collections.abc import Mapping, Sequence

from limen.brain.analysis import terms_of
from limen.brain.arrays import F32, F64, I32, I64, Bools, np
from limen.brain.index.columns import speaker_key
from limen.brain.index.ports import Columns, IndexView
from limen.brain.retrieval.balance import components_of, is_found, score
from limen.brain.retrieval.candidates import Lexicon, find_candidates, inverse_frequency
from limen.brain.retrieval.features import Asked, Features, Kinds, compare, describe, kinds_of
from limen.brain.retrieval.ports import Question, Ranked
from limen.models.ports import Embedder, WordEmbedder

__all__ = ["PassageRanker"]

_NEAREST = 200
"""Passages that meaning alone may bring in."""
_LEAST_RARITY = 0.1
_FRAME_WORDS = """
    kind type sort way name likely consider mention say said accord describe talk discuss certain specific particular
    various different main example something thing get got go went gone do did done make made use take took give gave
    find found start try plan decide
"""
_FRAME = frozenset(terms_of(_FRAME_WORDS))
"""Words that a question is put with rather than about."""
_FRAME_SHARE = 0.5
_SAMPLED = 4096
_FEW_TITLES = 20_000
"""A word in more titles than this finds no document by itself."""
_BEST_TITLES = 30
_SHOWN_OF_TITLED = 4
_COMPARED = 700
"""Passages whose meaning is compared, besides those."""
_ROLES = frozenset({"user", "assistant", "system", "human", "ai", "bot", "agent", "tool", "me", "you"})


class PassageRanker:
    """Ranks with fixed weights. With an embedder, the meaning of a question leaves out whom it names."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def rank(self, view: IndexView, question: Question, allowed: "Bools | None", limit: int) -> Ranked:
        """The best passages of the allowed documents."""
        asked = self.understand(view, question)
        others = np.concatenate([_others(view, asked, allowed), _titled(view, asked.lexicon.terms, allowed)])
        candidates = find_candidates(view.columns, asked.lexicon, others, allowed)
        features = describe(view, asked, candidates)
        if asked.vector is not None:
            # Comparing meanings costs the most, so it is left to passages that have a chance.
            kept = _promising(features, candidates, view.columns, others)
            candidates, features = candidates[kept], {name: values[kept] for name, values in features.items()}
        features = {**features, **compare(view, asked.vector, candidates)}
        is_said = view.columns.speaker[candidates] > 0
        scores = np.where(is_found(features, is_said), score(features, is_said), 0.0)
        best = _best(candidates, scores, limit)
        parts = {name: values[best] for name, values in components_of(features).items()}
        return Ranked(candidates[best], scores[best], parts)

    def understand(self, view: IndexView, question: Question) -> Asked:
        """Part the people whom a question names from what it asks of them."""
        people = _people(view.columns, question.words)
        names = {term for word in people for term in terms_of(word)}
        terms = [term for term in question.terms if term not in names] or list(question.terms)
        return Asked(
            lexicon=_lexicon(view, terms),
            speakers=sorted(set(people.values())),
            kinds=kinds_of(question.text) if question.terms else Kinds(),
            vector=self._vector(view, question, people),
        )

    def _vector(self, view: IndexView, question: Question, people: Mapping[str, int]) -> "F32 | None":
        """What is asked, without whom it is asked of; rare words say more about it than frequent ones."""
        words = [word for word in question.words if word not in people]
        if question.vector is None or self._embedder is None or not words:
            return question.vector
        if isinstance(self._embedder, WordEmbedder):
            vector = self._embedder.embed_words(words, _rarities(view, words))
        else:
            vector = self._embedder.embed([" ".join(words)])[0] if people else question.vector
        return vector if vector.any() else question.vector


def _others(view: IndexView, asked: Asked, allowed: "Bools | None") -> I32:
    """Passages to look at whatever words they have: those nearest in meaning, or all one knows is who said it."""
    found = [np.zeros(0, dtype=np.int32)]
    if asked.vector is not None:
        found.append(view.nearest(asked.vector, _NEAREST, allowed)[0])
    if asked.speakers and not asked.lexicon.weights.any():
        says = np.isin(view.columns.speaker, np.array(asked.speakers, dtype=np.uint32))
        found.append(np.flatnonzero(says)[-_NEAREST:].astype(np.int32))
    return np.concatenate(found)


def _rarities(view: IndexView, words: Sequence[str]) -> Sequence[float]:
    terms = [terms_of(word)[:1] for word in words]
    distinct = sorted({term for some in terms for term in some})
    total = len(view.columns.document)
    weights = inverse_frequency(view.postings("content", distinct), total) / np.log1p(np.float32(2 * total + 1))
    by_term = dict(zip(distinct, weights.tolist(), strict=True))
    return [max((by_term[term] * _share(term) for term in some), default=_LEAST_RARITY) for some in terms]


def _share(term: str) -> float:
    return _FRAME_SHARE if term in _FRAME else 1.0


def _people(columns: Columns, words: Sequence[str]) -> Mapping[str, int]:
    """The words that are a speaker's first name, when written like one, with the speaker's key."""
    likely = [word for word in words if word[:1].isupper()]
    if not likely and columns.speaker[:: len(columns.speaker) // _SAMPLED + 1].any():
        # Some write all words small. Asking who speaks costs a look at every passage, so it is done among talks only.
        likely = list(words)
    keys = {word: _key(word) for word in likely}
    return {word: key for word, key in keys.items() if key and bool((columns.speaker == np.uint32(key)).any())}


def _key(word: str) -> int:
    name = word.removesuffix("'s").removesuffix("\u2019s")
    # A role is a word like others: whoever asks about an assistant need not mean the one who said it.
    return 0 if name.casefold() in _ROLES else speaker_key(name)


def _lexicon(view: IndexView, terms: Sequence[str]) -> Lexicon:
    found = view.postings("content", terms)
    weights = inverse_frequency(found, len(view.columns.document))
    # A word that no passage has cannot tell them apart, but may stand in a title.
    weights[[not len(postings.ids) for postings in found]] = 0
    weights *= np.array([_share(term) for term in terms], dtype=np.float32)
    return Lexicon(terms, found, weights)


def _titled(view: IndexView, terms: Sequence[str], allowed: "Bools | None") -> I32:
    """The first passages of the documents whose title, tags, path or date fit best, whatever the passages say."""
    columns = view.columns
    about = view.postings("about", terms)
    scores = np.zeros(len(columns.first), dtype=np.float32)
    pool: list[I32] = []
    for postings, weight in zip(about, inverse_frequency(about, len(columns.first)).tolist(), strict=True):
        scores[postings.ids] += np.float32(weight)
        if len(postings.ids) <= _FEW_TITLES:
            pool.append(postings.ids)
    found = np.unique(np.concatenate(pool)) if pool else np.zeros(0, dtype=np.int32)
    if allowed is not None:
        found = found[allowed[found]]
    if len(found) > _BEST_TITLES:
        found = found[np.argpartition(scores[found], -_BEST_TITLES)[-_BEST_TITLES:]]
    shown = np.minimum(columns.count[found], _SHOWN_OF_TITLED)
    starts = np.repeat(columns.first[found], shown)
    steps = np.arange(len(starts)) - np.repeat(np.cumsum(shown) - shown, shown)
    return (starts + steps).astype(np.int32)


def _promising(features: Features, candidates: I32, columns: Columns, others: I32) -> I64:
    """The places of the best so far, and of those that came in for their meaning."""
    if len(candidates) <= _COMPARED:
        return np.arange(len(candidates))
    scores = score(features, columns.speaker[candidates] > 0)
    is_kept = np.isin(candidates, others)
    is_kept[_best(candidates, scores, _COMPARED)] = True
    return np.flatnonzero(is_kept)


def _best(candidates: I32, scores: F64, limit: int) -> I64:
    """The places of the best, best first; of equals the one that stands first in the index; none that has no score."""
    places = np.flatnonzero(scores > 0)
    if len(places) > limit:
        # All that equal the last one stay until they are put in order.
        edge = np.partition(scores, -limit)[-limit]
        places = np.flatnonzero((scores >= edge) & (scores > 0))
    return places[np.lexsort((candidates[places], -scores[places]))][:limit]
