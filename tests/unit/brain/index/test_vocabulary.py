"""Which words were meant when one was mistyped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.index.vocabulary import Chunk, most_similar, pack_chunk, unpack_chunk

TERMS = ["harbor", "harbour", "lantern", "meadow", "on", "one", "東京駅", "gödel"]


def meant(typed: str, terms: list[str]) -> list[str]:
    chunk = unpack_chunk(pack_chunk(Chunk.of(terms, np.arange(1, len(terms) + 1, dtype=np.int32))))
    return list(most_similar(typed, dict(chunk.resembling(typed)), 10))


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("habror", ["harbor", "harbour"]),
        ("harbur", ["harbour", "harbor"]),
        ("lanterm", ["lantern"]),
        ("lamtern", ["lantern"]),
        ("lantren", ["lantern"]),
        ("nalterm", []),
        ("meado", ["meadow"]),
        ("ons", ["one", "on"]),
        ("onxy", []),
        ("東京馬", ["東京駅"]),
        ("godel", ["gödel"]),
        ("harbor", ["harbour"]),
        ("", []),
    ],
)
def test_a_mistyped_word_leads_to_those_that_were_meant(typed: str, wanted: list[str]) -> None:
    assert meant(typed, TERMS) == wanted


letters = st.text("abcdefgh", min_size=5, max_size=10)


@given(letters, st.integers(0, 9), st.sampled_from("abcdefghx"), st.sampled_from(["change", "insert", "drop", "swap"]))
def test_one_error_of_any_kind_is_forgiven(word: str, place: int, letter: str, error: str) -> None:
    place = min(place, len(word) - 2)
    typed = {
        "change": word[:place] + letter + word[place + 1 :],
        "insert": word[:place] + letter + word[place:],
        "drop": word[:place] + word[place + 1 :],
        "swap": word[:place] + word[place + 1] + word[place] + word[place + 2 :],
    }[error]
    assert typed == word or meant(typed, [word]) == [word]
