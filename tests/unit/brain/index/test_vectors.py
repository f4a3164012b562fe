"""Vectors in bytes and bits: small, and still good enough to find the nearest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.index.vectors import bits_of, distances, nearest_places, quantised, sign_bits, unit, words_of_bits


def some_vectors(count: int, dimensions: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("dimensions", [64, 100, 256, 384])
def test_bytes_keep_the_direction(dimensions: int) -> None:
    vectors = some_vectors(50, dimensions, 1)
    assert (unit(quantised(vectors)) * vectors).sum(axis=1) == pytest.approx(np.ones(50), abs=0.001)


def test_a_zero_vector_stays_one() -> None:
    assert not unit(quantised(np.zeros((2, 64), dtype=np.float32))).any()


@pytest.mark.parametrize("dimensions", [64, 100, 256, 384])
def test_distances_count_the_signs_that_differ(dimensions: int) -> None:
    vectors = some_vectors(300, dimensions, 2)
    kept = bits_of(sign_bits(quantised(vectors)).tobytes(), 300)
    assert kept is not None
    (wanted,) = words_of_bits(sign_bits(quantised(vectors[:1]))).T
    found = distances(words_of_bits(kept), wanted)
    assert found[0] == 0
    signs = quantised(vectors) > 0
    assert found.tolist() == (signs != signs[0]).sum(axis=1).tolist()


@given(st.lists(st.integers(0, 255), min_size=1, max_size=400), st.integers(1, 50))
def test_the_nearest_are_as_near_as_any(values: list[int], limit: int) -> None:
    found = np.array(values, dtype=np.uint8)
    places = nearest_places(found, limit)
    assert len(set(places.tolist())) == min(limit, len(values))
    assert sorted(found[places].tolist()) == sorted(values)[:limit]


@given(st.lists(st.tuples(st.integers(0, 250), st.booleans()), min_size=1, max_size=400), st.integers(1, 50))
def test_what_is_not_usable_is_never_near(values: list[tuple[int, bool]], limit: int) -> None:
    found = np.array([value for value, _ in values], dtype=np.uint8)
    usable = np.array([is_usable for _, is_usable in values])
    places = nearest_places(found.copy(), limit, usable)
    assert sorted(found[places].tolist()) == sorted(value for value, is_usable in values if is_usable)[:limit]
    assert usable[places].all()
