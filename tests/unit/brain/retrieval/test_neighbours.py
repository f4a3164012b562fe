"""Candidates with their neighbours are what one finds by looking at each document, passage by passage."""

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.index.ports import Columns, Postings
from limen.brain.retrieval.neighbours import Neighbourhood, by_document

OFFSETS = (1, -1, 2, -2, 3, -3)
sizes_of_documents = st.lists(st.integers(1, 9), min_size=1, max_size=12)


def columns_of(sizes: list[int]) -> Columns:
    total = sum(sizes)
    return Columns(
        document=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        length=np.ones(total, dtype=np.uint16),
        speaker=np.zeros(total, dtype=np.uint32),
        flags=np.zeros(total, dtype=np.uint8),
        first=np.array([0, *accumulate(sizes)][:-1], dtype=np.int32),
        count=np.array(sizes, dtype=np.int32),
        day=np.zeros(len(sizes), dtype=np.int32),
    )


def some_of(sizes: list[int], chosen: set[int]) -> list[int]:
    return sorted(number % sum(sizes) for number in chosen if number % sum(sizes) == number)


@given(sizes_of_documents, st.sets(st.integers(0, 107)), st.sampled_from([OFFSETS, OFFSETS[:4]]))
def test_every_neighbour_has_a_place_and_stays_within_its_document(
    sizes: list[int], chosen: set[int], offsets: tuple[int, ...]
) -> None:
    columns, candidates = columns_of(sizes), some_of(sizes, chosen)
    around = Neighbourhood(columns, np.array(candidates, dtype=np.int32), offsets)
    owner = columns.document.tolist()
    named: set[int] = set()
    for offset in (0, *offsets):
        for number, place in zip(candidates, around.at[offset].tolist(), strict=True):
            near = number - offset
            is_there = 0 <= near < len(owner) and owner[near] == owner[number]
            assert bool(place) == is_there
            if is_there:
                assert around.every[place - 1] == near
                named.add(near)
    assert around.every.tolist() == sorted(named)


@given(sizes_of_documents, st.sets(st.integers(0, 107)), st.dictionaries(st.integers(0, 107), st.integers(1, 255)))
def test_a_term_is_counted_where_it_stands(sizes: list[int], chosen: set[int], found: dict[int, int]) -> None:
    candidates = some_of(sizes, chosen)
    around = Neighbourhood(columns_of(sizes), np.array(candidates, dtype=np.int32), OFFSETS)
    ids = [number for number in sorted(found) if number < sum(sizes)]
    counts = np.array([found[number] for number in ids], dtype=np.uint8)
    row = around.counts(Postings(np.array(ids, dtype=np.int32), counts))
    assert row.tolist() == [0, *(found.get(number, 0) for number in around.every.tolist())]


@given(sizes_of_documents, st.sets(st.integers(0, 107)), st.sets(st.integers(0, 107)))
def test_a_document_has_a_term_as_often_as_passages_of_it_have(
    sizes: list[int], chosen: set[int], found: set[int]
) -> None:
    columns, candidates = columns_of(sizes), some_of(sizes, chosen)
    around = Neighbourhood(columns, np.array(candidates, dtype=np.int32), OFFSETS)
    ids = np.array(some_of(sizes, found), dtype=np.int32)
    holders = columns.document[ids].tolist()
    having = around.in_documents([Postings(ids, np.ones(len(ids), dtype=np.uint8))])
    assert having[:, 0].tolist() == [holders.count(columns.document[number]) for number in candidates]


@pytest.mark.parametrize(("documents", "best"), [([0, 0, 2, 3, 3], [5, 5, 1, 7, 7]), ([], [])])
def test_the_best_of_a_document_stands_for_all_of_it(documents: list[int], best: list[float]) -> None:
    values = np.array([5, 4, 1, -2, 7][: len(documents)], dtype=np.float32)
    assert by_document(values, np.array(documents, dtype=np.int32)).tolist() == best
