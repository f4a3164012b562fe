"""Whether an answer is the right one: the same passages with the same text and facts, and nearly the same scores."""

from collections.abc import Mapping, Sequence
from math import isclose

from limen.brain.retrieval.answers import Hit

__all__ = ["NOISE", "difference"]

NOISE = 2e-5
"""Scores are told with six digits, and sums of floats depend on their order."""


def difference(found: Sequence[Hit], right: Sequence[Hit], noise: float) -> str:
    """What is wrong with an answer; nothing when it is right. Hits of one score may change places."""
    wanted, got = _by_place(right), _by_place(found)
    if len(wanted) != len(got) or len(found) != len(got):
        return f"{len(found)} hits instead of {len(right)}"
    last = right[-1].score if right else 0.0
    for place in wanted.keys() ^ got.keys():
        odd = wanted.get(place) or got[place]
        if not isclose(odd.score, last, abs_tol=noise):
            is_missing = place in wanted
            return f"{odd.path} {odd.start}-{odd.end} is {'missing' if is_missing else 'too much'}: {odd.score}, {last}"
    for place in wanted.keys() & got.keys():
        if fault := _unlike(got[place], wanted[place], noise):
            return f"{got[place].path} {got[place].start}-{got[place].end}: {fault}"
    scores = [hit.score for hit in found]
    return "" if scores == sorted(scores, reverse=True) else "not the best first"


def _by_place(hits: Sequence[Hit]) -> Mapping[tuple[str, int, int], Hit]:
    return {(hit.path, hit.start, hit.end): hit for hit in hits}


def _unlike(found: Hit, right: Hit, noise: float) -> str:
    measures = {"score": (found.score, right.score)}
    for name in found.components.keys() | right.components.keys():
        measures[name] = (found.components.get(name, 0.0), right.components.get(name, 0.0))
    odd = [f"{name} {one} instead of {other}" for name, (one, other) in measures.items() if abs(one - other) > noise]
    # Which words tell why it was found depends on what counted most.
    moving = {"score", "components", "why" if noise > NOISE else ""}
    odd += [
        f"{name} {getattr(found, name)!r:.80} instead of {getattr(right, name)!r:.80}"
        for name in found.__struct_fields__
        if name not in moving and getattr(found, name) != getattr(right, name)
    ]
    return "; ".join(odd)
