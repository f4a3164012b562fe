"""Text becomes terms the same way everywhere: stems, identifiers whole and in parts, pairs where no spaces are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.analysis import (
    HAS_NAME,
    HAS_NAMES,
    HAS_NUMBER,
    HAS_QUOTE,
    HAS_TIME,
    marks_of,
    spans_of,
    terms_of,
)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Caroline's painted sunsets", ["carolin", "paint", "sunset"]),
        ("Caroline\u2019s", ["carolin"]),
        ("painting paints PAINTED", ["paint", "paint", "paint"]),
        ("May 8th, 2023", ["may", "8", "2023"]),
        ("café Müller", ["cafe", "muller"]),
        ("l'homme", ["l", "homm"]),
        ("книги книга", ["книг", "книг"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("", []),
        ("?! ...", []),
    ],
)
def test_words_are_folded_and_stemmed(text: str, terms: list[str]) -> None:
    assert list(terms_of(text)) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("snake_case_name", ["snake_case_name", "snake", "case", "name"]),
        ("getHTTPResponse", ["gethttpresponse", "get", "http", "respons"]),
        ("src/limen/app.py", ["src/limen/app.py", "src", "limen", "app", "py"]),
        ("v1.2.3", ["v1.2.3", "v1", "2", "3"]),
        ("a@b.com", ["a@b.com", "a", "b", "com"]),
        ("well-made", ["well", "make"]),
    ],
)
def test_identifiers_are_kept_whole_and_in_parts(text: str, terms: list[str]) -> None:
    assert list(terms_of(text)) == terms


@pytest.mark.parametrize(
    ("form", "word"), [("bought", "buying"), ("Won", "wins"), ("children", "child"), ("WROTE", "writing")]
)
def test_irregular_forms_are_the_word_they_are_a_form_of(form: str, word: str) -> None:
    assert terms_of(form) == terms_of(word)


@pytest.mark.parametrize(("form", "word"), [("left", "leave"), ("founded", "find"), ("lives", "life")])
def test_words_that_only_look_like_a_form_stay_themselves(form: str, word: str) -> None:
    assert terms_of(form) != terms_of(word)


def test_scripts_without_spaces_give_pairs_and_han_single_characters_too() -> None:
    assert list(terms_of("東京")) == ["東", "東京", "京"]
    assert list(terms_of("서울에서")) == ["서울", "울에", "에서"]
    assert "タワ" in terms_of("東京タワー")


@pytest.mark.parametrize(("text", "part"), [("東京タワーに行った", "東京"), ("서울에서 만나요", "서울")])
def test_a_part_of_an_unspaced_text_is_found_in_it(text: str, part: str) -> None:
    assert set(terms_of(part)) <= set(terms_of(text))


def test_composed_and_decomposed_accents_are_one_word() -> None:
    assert terms_of("cafe\u0301") == terms_of("caf\u00e9") == terms_of("CAFE")


def test_wide_letters_are_letters() -> None:
    assert terms_of("\uff21\uff22\uff23") == terms_of("abc")


@given(st.text())
def test_spans_are_the_terms_with_where_they_stand(text: str) -> None:
    spans = spans_of(text)
    assert [term for term, _, _ in spans] == list(terms_of(text))
    assert all(0 <= start < end <= len(text) for _, start, end in spans)


@given(st.text())
def test_no_term_is_empty_or_endless(text: str) -> None:
    assert all(0 < len(term) <= 64 * 4 for term in terms_of(text))


@given(st.text(alphabet="abcdefgh XYZ_./", max_size=60))
def test_case_of_plain_words_does_not_matter(text: str) -> None:
    assert terms_of(text.lower()) == terms_of(text.lower().upper().lower())


def test_a_word_without_end_is_cut() -> None:
    (term,) = terms_of("x" * 100_000)
    assert len(term) == 64


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("I saw it yesterday", HAS_TIME),
        ("we met in 2019", HAS_TIME | HAS_NUMBER),
        ("we went to Rome", HAS_NAME),
        ("from Rome to Paris, with Anna", HAS_NAME | HAS_NAMES),
        ("I have three of them", HAS_NUMBER),
        ('it is called "Becoming Nicole"', HAS_QUOTE),
        ("that is nice", 0),
        ("", 0),
    ],
)
def test_marks_tell_what_kind_of_facts_a_passage_holds(text: str, bits: int) -> None:
    assert marks_of(text) & bits == bits
    assert bits or not marks_of(text)
