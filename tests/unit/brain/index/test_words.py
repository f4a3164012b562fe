"""Words as sorted arrays: gathered, merged and cut without losing or gaining any."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.index.words import Words, cut, gather, merge, pack, unpack

texts = st.lists(st.lists(st.text("abcé漢", min_size=1, max_size=3), max_size=12), max_size=12)
many_texts = st.integers(4, 30).map(
    lambda count: [[f"t{row * word % 23}" for word in range(25)] for row in range(count)]
)
texts |= many_texts


def spelled(words: Words) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    place = 0
    for term, size in zip(words.terms, words.sizes.tolist(), strict=True):
        pairs = zip(words.rows[place : place + size].tolist(), words.counts[place : place + size].tolist(), strict=True)
        found[term] = list(pairs)
        place += size
    return found


def counted(texts: Sequence[Sequence[str]]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for row, terms in enumerate(texts):
        for term, count in Counter(terms).items():
            found.setdefault(term, []).append((row, count))
    return found


@given(texts)
def test_every_word_is_gathered_with_its_rows_and_counts(texts: list[list[str]]) -> None:
    words = gather(texts)
    assert spelled(words) == counted(texts)
    assert list(words.terms) == sorted(words.terms)
    for term, postings in counted(texts).items():
        found = words.find(term)
        assert found is not None
        assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == postings
    assert words.find("nobody") is None


def test_a_count_stops_at_what_a_byte_holds() -> None:
    assert gather([["a"] * 300]).counts.tolist() == [255]


@given(texts)
def test_what_was_packed_is_the_same_again(texts: list[list[str]]) -> None:
    words = gather(texts)
    assert spelled(unpack(pack(words))) == spelled(words)


@given(texts)
def test_blocks_are_all_of_it_in_order(texts: list[list[str]]) -> None:
    words = gather(texts)
    blocks = list(cut(words))
    assert [term for block in blocks for term in block.terms] == list(words.terms)
    assert {term: postings for block in blocks for term, postings in spelled(block).items()} == spelled(words)


def test_a_frequent_term_has_a_block_of_its_own() -> None:
    blocks = list(cut(gather([["a", "often", "z"] if row == 0 else ["often"] for row in range(5000)])))
    assert [list(block.terms) for block in blocks] == [["a"], ["often"], ["z"]]


@given(texts, st.integers(0, 12), st.data())
def test_merging_parts_is_gathering_what_is_kept_of_the_whole(
    texts: list[list[str]], middle: int, data: st.DataObject
) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    numbers = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    parts = [(gather(texts[:middle]), numbers[:middle]), (gather(texts[middle:]), numbers[middle:])]
    whole = [terms for terms, is_kept in zip(texts, kept, strict=True) if is_kept]
    assert spelled(merge(parts)) == spelled(gather(whole))


@given(texts)
def test_a_part_has_the_terms_between(texts: list[list[str]]) -> None:
    words = gather(texts)
    middle = words.upto("b")
    assert all(term <= "b" for term in words.part(0, middle).terms)
    joined = spelled(words.part(0, middle)) | spelled(words.part(middle, len(words.terms)))
    assert joined == spelled(words)


def test_bytes_that_do_not_add_up_are_refused() -> None:
    words = gather([["a", "b"], ["b"]])
    with pytest.raises(ValueError, match="add up"):
        unpack(pack(Words(words.terms, words.sizes[:1], words.rows, words.counts)))
    with pytest.raises(ValueError, match="add up"):
        unpack(pack(Words(words.terms, words.sizes, words.rows[:1], words.counts)))
