"""One go at a question over one view of the index: candidates of every leg, what may be shown, weights, the best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from limen.brain.arrays import Bools, np
from limen.brain.index.ports import NO_DAY, IndexView, StoredPassage
from limen.brain.retrieval.answers import SearchRequest
from limen.brain.retrieval.constraints import Constraints
from limen.brain.retrieval.dates import Dates
from limen.brain.retrieval.phrases import holds
from limen.brain.retrieval.ports import Question, Ranked, Ranker
from limen.brain.retrieval.query import Query
from limen.brain.retrieval.weights import (
    DATE,
    PHRASE,
    SCOPE,
    SCOPES,
    TOLD_AFTER_DAYS,
    TOLD_BEFORE_DAYS,
    combined,
    context_fit,
    date_fit,
    recency,
)

__all__ = ["Asked", "Attempt", "Found"]

LEAST_DEPTH = 50
MOST_DEPTH = 20_000
COLLAPSED_DEPTH = 300
FLOOR = 0.01
"""The rank of a passage that has what was demanded and of which nothing else is known."""
_DEAD = 2

Weighed = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, understood."""

    request: SearchRequest
    query: Query
    dates: Dates
    today: int


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that may be shown, with its score and what it was made of."""

    passage: StoredPassage
    score: float
    components: Mapping[str, float]
    phrases: tuple[str, ...]


@dataclass(slots=True)
class _Candidate:
    number: int
    base: float
    components: dict[str, float]
    parts: dict[str, Weighed] = field(default_factory=dict[str, Weighed])

    @property
    def score(self) -> float:
        return combined(self.base, list(self.parts.values()))


@dataclass(slots=True)
class Attempt:
    """Candidates are taken from the ranker ever deeper until enough of them pass; what was done stays to be shown."""

    view: IndexView
    ranker: Ranker
    asked: Asked
    question: Question
    constraints: Constraints
    allowed: "Bools | None"
    legs: dict[str, Ranked] = field(default_factory=dict[str, Ranked])
    weights: dict[str, float] = field(default_factory=dict[str, float])
    depth: int = 0

    def run(self) -> Sequence[Found]:
        """The passages that pass, the best first; at least as many as were asked for when there are so many."""
        wanted = self.asked.request.limit
        # Many passages may be of one document, so more of them are looked at.
        self.depth = max(COLLAPSED_DEPTH if self.asked.request.collapse else LEAST_DEPTH, 4 * wanted)
        while True:
            candidates, is_all = self._candidates()
            found = self._best(candidates)
            if self._is_enough(found) or is_all or self.depth >= MOST_DEPTH:
                return found
            self.depth *= 4

    @property
    def has_words(self) -> bool:
        """Whether the candidates of the last run were found by words, or no words were looked for."""
        scores = self.legs["ranked"].components.get("bm25")
        return not self.question.terms or scores is None or bool((scores > 0).any())

    def _is_enough(self, found: Sequence[Found]) -> bool:
        shown = {hit.passage.document_id for hit in found} if self.asked.request.collapse else found
        return len(shown) >= self.asked.request.limit

    def _candidates(self) -> tuple[list[_Candidate], bool]:
        main = self.ranker.rank(self.view, self.question, self.allowed, self.depth)
        self.legs = {"ranked": main}
        is_all = len(main.numbers) < self.depth
        dated = None if is_all else self._dated_documents()
        if dated is not None:
            self.legs["dated"] = self.ranker.rank(self.view, self.question, dated, self.depth)
        found: dict[int, _Candidate] = {}
        for ranked in self.legs.values():
            self._add(found, ranked)
        if is_all and self.asked.query.must:
            self._add(found, self._unranked(found))
        return list(found.values()), is_all

    def _add(self, found: dict[int, _Candidate], ranked: Ranked) -> None:
        passes = self.constraints.passages
        names = list(ranked.components)
        values = [ranked.components[name].tolist() for name in names]
        for at, (number, score) in enumerate(zip(ranked.numbers.tolist(), ranked.scores.tolist(), strict=True)):
            if number not in found and (passes is None or passes[number]):
                components = {name: column[at] for name, column in zip(names, values, strict=True)}
                found[number] = _Candidate(number, score, components)

    def _dated_documents(self) -> "Bools | None":
        spans = self.asked.dates.spans
        if not spans:
            return None
        days = self.view.columns.day
        fits = np.zeros(len(days), np.bool_)
        for span in spans:
            fits |= (days >= span.first_day - TOLD_BEFORE_DAYS) & (days <= span.last_day + TOLD_AFTER_DAYS)
        fits &= days != NO_DAY
        return fits if self.allowed is None else fits & self.allowed

    def _unranked(self, found: Mapping[int, _Candidate]) -> Ranked:
        columns, passes = self.view.columns, self.constraints.passages
        if passes is None:
            return _ranked([])
        alive = passes & ((columns.flags & _DEAD) == 0)
        if self.allowed is not None:
            alive &= self.allowed[columns.document]
        left = [number for number in np.flatnonzero(alive)[:MOST_DEPTH].tolist() if number not in found]
        return _ranked(left)

    def _best(self, candidates: list[_Candidate]) -> Sequence[Found]:
        self._weigh(candidates)
        ordered = sorted(candidates, key=lambda candidate: (-candidate.score, candidate.number))
        found: list[Found] = []
        step = self._step()
        for at in range(0, len(ordered), step):
            some = ordered[at : at + step]
            passages = self.view.passages([candidate.number for candidate in some])
            for candidate, passage in zip(some, passages, strict=True):
                if self.constraints.are_met_by(passage):
                    found.append(self._found(candidate, passage))
            if self._is_enough(found):
                break
        return sorted(found, key=lambda hit: (-hit.score, hit.passage.path, hit.passage.ordinal))

    def _step(self) -> int:
        limit = self.asked.request.limit
        return max(100, 4 * limit) if self.asked.request.sort == "recency" else max(2 * limit, limit + 20)

    def _weigh(self, candidates: list[_Candidate]) -> None:
        numbers = np.array([candidate.number for candidate in candidates], np.int32)
        documents = self.view.columns.document[numbers]
        dates, request = self.asked.dates, self.asked.request
        weighed = {"recency": recency(self.view, documents, dates, self.asked.today)}
        if dates.spans:
            weighed["date"] = DATE, date_fit(self.view, documents, dates)
        if request.context:
            weighed["context"] = context_fit(self.view, numbers, request.context)
        self.weights = {name: weight for name, (weight, _) in weighed.items()}
        for name, (weight, values) in weighed.items():
            for candidate, value in zip(candidates, values, strict=True):
                candidate.parts[name] = (weight, value)

    def _found(self, candidate: _Candidate, passage: StoredPassage) -> Found:
        self.weights["scope"] = SCOPE
        candidate.parts["scope"] = (SCOPE, SCOPES[passage.scope])
        phrases = self.asked.query.phrases
        said = tuple(atom.text for atom in phrases if holds(atom, passage.text))
        if phrases:
            self.weights["phrase"] = PHRASE
            candidate.parts["phrase"] = (PHRASE, len(said) / len(phrases))
        components = candidate.components | {name: value for name, (_, value) in candidate.parts.items()}
        return Found(passage, candidate.score, components, said)


def _ranked(numbers: Sequence[int]) -> Ranked:
    return Ranked(np.array(numbers, np.int32), np.full(len(numbers), FLOOR, np.float64), {})
