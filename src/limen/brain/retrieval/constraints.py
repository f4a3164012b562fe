"""What AND, OR, NOT, phrases and prefixes demand, held against an index: which passages may be shown at all.

Words are looked up; phrases and prefixes are looked up by their words first and then verified letter by letter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from limen.brain.analysis import terms_of
from limen.brain.arrays import I32, Bools, np
from limen.brain.index.columns import speaker_key
from limen.brain.index.ports import IndexView, StoredPassage
from limen.brain.retrieval.phrases import WORD, holds
from limen.brain.retrieval.query import Atom, Query
from limen.brain.wordforms import BASES

__all__ = ["Constraints", "constrain", "is_said_by", "prefix_terms"]

MOST_PREFIX_TERMS = 256
_STEM_CUT = 3
"""Index terms are stems: `runn*` may stand for words whose term is only `run`."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """Which passages a query lets through."""

    query: Query
    passages: "Bools | None"
    """One claim for each passage of the view: it may hold what is demanded. None when nothing is demanded."""
    documents: "Bools | None"
    """The documents that have such a passage."""

    def allow(self, filtered: "Bools | None") -> "Bools | None":
        """The documents that pass the filters and have something to show."""
        if self.documents is None or filtered is None:
            return self.documents if filtered is None else filtered
        return self.documents & filtered

    def are_met_by(self, passage: StoredPassage) -> bool:
        """Whether the text of a passage that may hold it does: phrases and prefixes to the letter."""
        text = "\n".join((passage.text, passage.heading, passage.title))
        groups = (group for group in self.query.must if any(atom.kind != "word" for atom in group))
        # A group with a plain word in it may have been met by that word, which the index has seen to.
        has_all = all(any(atom.kind == "word" or holds(atom, text) for atom in group) for group in groups)
        return has_all and not any(atom.kind != "word" and holds(atom, text) for atom in self.query.must_not)


def constrain(view: IndexView, query: Query, respelled: Mapping[str, str]) -> Constraints:
    """Look up what the query demands and forbids."""
    forbidden = [atom for atom in query.must_not if atom.kind == "word"]
    if not query.must and not forbidden:
        return Constraints(query, None, None)
    columns = view.columns
    lookup = _Lookup(view, respelled)
    passages = np.ones(len(columns.document), np.bool_)
    for group in query.must:
        passages &= reduce(np.logical_or, (lookup.may_hold(atom) for atom in group))
    for atom in forbidden:
        passages &= ~lookup.may_hold(atom)
    documents = np.zeros(len(columns.first), np.bool_)
    documents[columns.document[passages]] = True
    return Constraints(query, passages, documents)


def prefix_terms(view: IndexView, prefix: str, limit: int) -> Sequence[str]:
    """Index terms of words that may begin so, the most frequent first."""
    beginnings = [prefix.casefold(), *terms_of(prefix)]
    # What the stemmer cut off may be what the prefix ends with.
    beginnings += [prefix.casefold()[:-cut] for cut in range(1, _STEM_CUT + 1) if len(prefix) - cut >= _STEM_CUT]
    if len(prefix) >= _STEM_CUT:
        beginnings += [term for form in BASES if form.startswith(prefix.casefold()) for term in terms_of(form)]
    found = [*view.terms_with_prefix(prefix.casefold(), limit), *beginnings]
    return tuple(dict.fromkeys(found))


def is_said_by(view: IndexView, name: str) -> Bools:
    """For each passage, whether someone of this name says it."""
    bare = WORD.search(name)
    key = speaker_key(bare[0]) if bare else 0
    return (view.columns.speaker == np.uint32(key)) & (key != 0)


@dataclass(frozen=True, slots=True)
class _Lookup:
    view: IndexView
    respelled: Mapping[str, str]

    def may_hold(self, atom: Atom) -> Bools:
        if atom.kind == "prefix":
            return self._with_any(prefix_terms(self.view, atom.text, MOST_PREFIX_TERMS))
        found = [mask for token in atom.text.split() if (mask := self._with_token(token)) is not None]
        return reduce(np.logical_and, found) if found else np.zeros(len(self.view.columns.document), np.bool_)

    def _with_token(self, token: str) -> "Bools | None":
        terms = [self.respelled.get(term, term) for term in dict.fromkeys(terms_of(token))]
        if not terms:
            return None
        passages = reduce(np.logical_and, (self._with_any([term]) for term in terms))
        # Who says something stands beside it, not among its words.
        return passages | is_said_by(self.view, token)

    def _with_any(self, terms: Sequence[str]) -> Bools:
        columns = self.view.columns
        passages = np.zeros(len(columns.document), np.bool_)
        documents = np.zeros(len(columns.first), np.bool_)
        for field in ("content", "heading"):
            for postings in self.view.postings(field, terms):
                passages[postings.ids] = True
        for postings in self.view.postings("about", terms):
            documents[postings.ids] = True
        numbers: I32 = np.flatnonzero(documents).astype(np.int32)
        for number in numbers.tolist():
            first = int(columns.first[number])
            passages[first : first + int(columns.count[number])] = True
        return passages
