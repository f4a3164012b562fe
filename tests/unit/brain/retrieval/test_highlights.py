"""What is marked in a passage is what matched, to the character, and a snippet shows it."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.analysis import terms_of
from limen.brain.retrieval.highlights import Marker, snippet
from limen.brain.retrieval.phrases import holds, places
from limen.brain.retrieval.query import Atom

TEXT = "The budget was approved. Budgets grow;\nthe marketing team\u2019s budget too."


def marked(text: str, *words: str, exact: tuple[Atom, ...] = ()) -> list[str]:
    return [text[start:end] for start, end in Marker(words, exact).mark(text).spans]


def test_the_words_that_match_are_marked() -> None:
    assert marked(TEXT, "budget", "Marketing")[0] == "budget"
    assert "marketing" in marked(TEXT, "budget", "Marketing")


def test_the_words_of_the_question_that_matched_are_named() -> None:
    assert Marker(["marketing", "holiday", "budget"]).mark(TEXT).words == ("budget", "marketing")


def test_a_phrase_is_marked_as_one() -> None:
    phrase = Atom("phrase", "budget was approved")
    assert marked(TEXT, exact=(phrase,)) == ["budget was approved"]


def test_a_beginning_marks_the_whole_word() -> None:
    assert marked(TEXT, exact=(Atom("prefix", "market"),)) == ["marketing"]


def test_a_respelled_word_marks_what_was_searched_for() -> None:
    marks = Marker(["buget"], respelled={"buget": "budget"}).mark("the budget")
    assert marks.spans == ((4, 10),)
    assert marks.words == ("buget",)


def test_scripts_without_spaces_are_marked_within_a_run() -> None:
    assert marked("昨日は東京駅で会いました", "東京駅") == ["東京駅"]
    assert marked("ฉันชอบกินข้าวผัด", "ข้าวผัด") == ["ข้าวผัด"]


def test_decomposed_letters_are_marked_with_their_accents() -> None:
    text = "un cafe\u0301 noir"
    assert marked(text, exact=(Atom("prefix", "caf"),)) == ["cafe\u0301"]


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_spans_lie_in_the_text_in_order_and_apart(text: str, words: list[str]) -> None:
    spans = Marker(words, tuple(Atom("phrase", word) for word in words)).mark(text).spans
    flat = [edge for span in spans for edge in span]
    assert flat == sorted(flat)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))


@given(st.text(max_size=300), st.integers(1, 100))
def test_a_snippet_is_a_part_of_the_text_no_longer_than_asked_for(text: str, chars: int) -> None:
    spans = Marker(["a"]).mark(text).spans
    start, end = snippet(text, spans, chars)
    assert 0 <= start <= end <= len(text)
    assert end - start <= chars


def test_a_snippet_shows_where_most_matched() -> None:
    text = "budget " + "filler words " * 60 + "the marketing budget of the marketing team " + "filler words " * 60
    start, end = snippet(text, Marker(["marketing", "budget"]).mark(text).spans, 100)
    assert "marketing budget of the marketing" in text[start:end]


@pytest.mark.parametrize(
    "text", ["Machine-\nLearning", "the MACHINE learning lab", "machine_learning", "(machine) learning"]
)
def test_a_phrase_is_found_whatever_stands_between_its_words(text: str) -> None:
    assert holds(Atom("phrase", "machine learning"), text)


@pytest.mark.parametrize(
    "text", ["machine unlearning", "learning machine", "machines learning", "machine, deep learning"]
)
def test_a_phrase_is_found_to_the_letter_only(text: str) -> None:
    assert not holds(Atom("phrase", "machine learning"), text)


def test_a_phrase_of_a_script_without_spaces_is_found_within_a_run() -> None:
    assert holds(Atom("phrase", "東京駅"), "昨日は東京駅で会いました")


def test_a_phrase_is_found_in_decomposed_text() -> None:
    assert holds(Atom("phrase", "café noir"), "un cafe\u0301 noir")


@given(st.text(max_size=40), st.text(max_size=20))
def test_no_text_breaks_the_search_for_a_phrase(text: str, phrase: str) -> None:
    for kind in ("phrase", "prefix"):
        found = list(places(Atom(kind, phrase), text))
        assert all(0 <= start <= end <= len(text) for start, end in found)


@given(
    st.text("abeilsty", min_size=1, max_size=5),
    st.sampled_from(["", "s", "ed", "ing", "y", "ies", "ied", "ly", "er", "e"]),
    st.sampled_from(["", "s", "ed", "ing", "y", "ies", "ied", "ly", "er", "e"]),
    st.sampled_from([str.lower, str.title, str.upper]),
)
def test_a_word_is_marked_whenever_it_has_the_term_asked_for(
    stem: str, one: str, other: str, written: Callable[[str], str]
) -> None:
    text = written(stem + other)
    assert bool(marked(text, stem + one)) == (terms_of(stem + one) == terms_of(text))


@pytest.mark.parametrize(
    ("asked", "text"),
    [("die", "Dying"), ("sky", "skies"), ("lie", "lying"), ("o", "oed"), ("go", "Went"), ("eat", "ate")],
)
def test_a_word_is_marked_however_its_beginning_changes(asked: str, text: str) -> None:
    assert marked(text, asked) == [text]
