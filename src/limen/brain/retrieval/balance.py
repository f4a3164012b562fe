"""How much each feature of a passage weighs, and the score and components they make together; constants only.

Two sets of weights, because an answer in a talk often stands beside the words that were asked for, while a page names
its subject itself. Both give log-odds, so that their scores can be laid side by side.
"""

from collections.abc import Mapping
from typing import Final

from limen.brain.arrays import F32, F64, Bools, np
from limen.brain.retrieval.features import Features

__all__ = ["components_of", "is_found", "score"]

SAID: Final[Mapping[str, float]] = {
    "own": 1.2,
    "coverage": 4.0,
    "near+1": 4.6,
    "near+2": 3.2,
    "near+3": 1.85,
    "near-1": 2.25,
    "near-2": 2.25,
    "near-3": 0.95,
    "document": 2.15,
    "spread": -1.4,
    "heading": 0.6,
    "about": 0.6,
    "dated": 4.2,
    "said": 1.25,
    "said by one": 1.25,
    "meaning": 6.15,
    "meaning squared": -4.6,
    "meaning before": 1.6,
    "meaning after": 0.65,
    "meaning of document": 3.95,
    "question": -0.7,
    "first": 0.65,
    "time": 0.45,
    "time asked": 1.8,
    "names": 0.55,
    "names asked": 2.2,
    "quote": 0.4,
    "number asked": 0.55,
}
"""Of a passage that somebody says."""
PROSE: Final[Mapping[str, float]] = {
    "own": 4.5,
    "near+1": 1.2,
    "near-1": 1.2,
    "document": 3.5,
    "heading": 3.0,
    "about": 4.0,
    "dated": 1.0,
    "meaning": 3.0,
    "meaning of document": 5.0,
}
"""Of any other passage."""
SAID_ODDS: Final = -12.0
"""Of a passage that nothing speaks for."""
PROSE_ODDS: Final = -12.0
SOFTNESS: Final = 2.0
"""The weights were fitted to tell the best from the rest; what else speaks for a passage needs smaller steps."""
LEAST_COSINE: Final = 0.2
"""Texts that have nothing to do with each other are alike up to this."""
_FULL_STRENGTH: Final = 1.9
"""What `own` comes to when every word is repeated without end."""
_NEIGHBOURS: Final = ("near+1", "near+2", "near+3", "near-1", "near-2", "near-3")


def score(features: Features, is_said: Bools) -> F64:
    """From 0 to 1: how likely a passage is to answer, as the weights see it; features not known yet count nothing."""
    if is_said.all():
        odds = _sum(features, SAID, SAID_ODDS)
    elif not is_said.any():
        odds = _sum(features, PROSE, PROSE_ODDS)
    else:
        odds = np.where(is_said, _sum(features, SAID, SAID_ODDS), _sum(features, PROSE, PROSE_ODDS))
    return 1.0 / (1.0 + np.exp(-odds / SOFTNESS))


def is_found(features: Features, is_said: Bools) -> Bools:
    """Whether anything connects each passage with the question; of a talk, one connected passage speaks for all."""
    found = features["meaning"] >= LEAST_COSINE
    for name in ("own", *_NEIGHBOURS, "heading", "about", "dated", "said"):
        found = found | (features[name] > 0)
    return found | (is_said & ((features["document"] > 0) | (features["meaning of document"] >= LEAST_COSINE)))


def components_of(features: Features) -> Mapping[str, F64]:
    """What a score was made of, in the words of an explanation, each from 0 to 1."""
    beside = _most(features, _NEIGHBOURS)
    return {
        "bm25": _bounded(features["own"] / np.float32(_FULL_STRENGTH)),
        "neighbours": _bounded(beside / np.float32(_FULL_STRENGTH)),
        "about": _bounded(_most(features, ("heading", "about", "dated"))),
        "speaker": _bounded(features["said"]),
        "semantic": _bounded(features["meaning"]),
    }


def _sum(features: Features, weights: Mapping[str, float], odds: float) -> F64:
    total = np.full(len(features["own"]), odds, dtype=np.float64)
    # In the order of the table, so that the same passage gets the same score in every search.
    for name, weight in weights.items():
        if name in features:
            total += weight * features[name]
    return total


def _most(features: Features, names: tuple[str, ...]) -> F32:
    most = features[names[0]]
    for name in names[1:]:
        most = np.maximum(most, features[name])
    return most


def _bounded(values: F32) -> F64:
    return np.clip(values.astype(np.float64), 0.0, 1.0)
