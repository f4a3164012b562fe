"""Why a hit matched is told in plain words, and only what its components show."""

from hypothesis import given
from hypothesis import strategies as st

from limen.brain.retrieval.reasons import reason


def test_words_and_phrases_are_quoted() -> None:
    assert reason({}, ["tea", "black tea"], ["black tea"], "") == "says “black tea”; and “tea”"
    assert reason({}, ["tea", "milk"], [], "") == "has “tea”, “milk”"


def test_many_words_are_counted() -> None:
    assert reason({}, list("abcdefgh"), [], "").endswith("and 2 more")


def test_what_else_spoke_for_it_is_told() -> None:
    told = reason({"semantic": 0.8, "date": 0.9, "about": 0.2, "context": 0.7}, [], [], "last week")
    assert told == (
        "close in meaning; its title, tags, path or date match; dated as asked (last week); fits the conversation"
    )


def test_a_passage_found_by_its_neighbours_says_so() -> None:
    assert reason({"neighbours": 0.3}, [], [], "") == "stands beside passages that match"


@given(st.dictionaries(st.sampled_from(["semantic", "date", "about", "context", "neighbours"]), st.floats(0, 1)))
def test_there_is_always_a_reason(components: dict[str, float]) -> None:
    assert reason(components, [], [], "")
