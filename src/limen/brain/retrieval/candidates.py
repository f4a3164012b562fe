"""Which passages are worth a close look: a cheap first pass over the postings of a question; decides no order."""

from collections.abc import Sequence

from msgspec import Struct

from limen.brain.arrays import F32, I32, I64, U8, Bools, np
from limen.brain.index.columns import DEAD
from limen.brain.index.ports import Columns, Postings

__all__ = ["Lexicon", "find_candidates", "inverse_frequency"]

_ALL = 1500
"""An index with no more passages than this is looked at whole."""
_BEST_PASSAGES = 200
_BEST_BLOCKS = 120
_BLOCK_BITS = 2
_BLOCK = 1 << _BLOCK_BITS
"""Neighbours whose words count together, so that an answer is found whose question held the words."""
_POOL = 20_000
"""Passages of the rarest terms among which the best are sought."""
_WORK = 800_000
"""Postings that one question may read in this pass; the most frequent terms beyond it wait for the close look."""
_SATURATION = 1.2


class Lexicon(Struct, frozen=True):
    """The terms of a question that occur in passages, their postings and how much each tells."""

    terms: Sequence[str]
    postings: Sequence[Postings]
    weights: F32


def inverse_frequency(found: Sequence[Postings], total: int) -> F32:
    """How much the presence of each term tells, by how few of all have it."""
    counts = np.array([len(each.ids) for each in found], dtype=np.float32)
    # Postings of dead passages may outnumber the living.
    absent = np.maximum(total - counts, 0)
    return np.log1p((absent + 0.5) / (counts + 0.5)).astype(np.float32)


def find_candidates(columns: Columns, lexicon: Lexicon, others: I32, allowed: "Bools | None") -> I32:
    """Living passages of allowed documents, ascending: the lexically best, those among them, and `others`."""
    total = len(columns.document)
    if total <= _ALL:
        found = np.arange(total, dtype=np.int32)
    else:
        found = np.unique(np.concatenate([others, _lexical(columns, lexicon, allowed)]))
    kept = (columns.flags[found] & DEAD) == 0
    if allowed is not None:
        kept &= allowed[columns.document[found]]
    return found[kept]


def _lexical(columns: Columns, lexicon: Lexicon, allowed: "Bools | None") -> I32:
    total = len(columns.document)
    single = np.zeros(total, dtype=np.float32)
    blocks = np.zeros(total // _BLOCK + 1, dtype=np.float32)
    pool: list[I32] = []
    room, work = _POOL, _WORK
    rarest_first = sorted(
        zip(lexicon.postings, lexicon.weights.tolist(), strict=True), key=lambda pair: len(pair[0].ids)
    )
    for postings, weight in rarest_first:
        ids = postings.ids
        if len(ids) > work and pool:
            break
        work -= len(ids)
        single[ids] += _saturated(postings.counts, weight)
        # A place named twice is added to once: a block counts each term once, however often it has it.
        blocks[ids >> _BLOCK_BITS] += weight
        if room > 0:
            pool.append(ids)
            room -= len(ids)
    if not pool:
        return np.zeros(0, dtype=np.int32)
    where = np.concatenate(pool)
    if allowed is not None:
        where = where[allowed[columns.document[where]]]
    return np.concatenate([_best_passages(single, where), _best_blocks(blocks, where, total)])


def _saturated(counts: U8, weight: float) -> F32:
    table = np.arange(256, dtype=np.float32)
    strength = table * (weight * (_SATURATION + 1)) / (table + _SATURATION)
    return strength.astype(np.float32)[counts]


def _best_passages(scores: F32, where: I32) -> I32:
    """The best, each with its neighbours."""
    best = _top(scores, where, _BEST_PASSAGES)
    around = np.concatenate([best + shift for shift in (-2, -1, 0, 1, 2)])
    return around[(around >= 0) & (around < len(scores))].astype(np.int32)


def _best_blocks(scores: F32, where: I32, total: int) -> I32:
    best = _top(scores, where >> _BLOCK_BITS, _BEST_BLOCKS)
    members = (best[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
    return members[members < total].astype(np.int32)


def _top(scores: F32, where: I32, limit: int) -> I64:
    """The places of the highest scores, each once."""
    values = scores[where]
    if len(values) > 4 * limit:
        # A place may be named by every term, so more than `limit` are taken before doubles go.
        where = where[np.argpartition(values, -4 * limit)[-4 * limit :]]
    places = np.unique(where).astype(np.int64)
    values = scores[places]
    if len(values) > limit:
        places = places[np.argpartition(values, -limit)[-limit:]]
    return places
