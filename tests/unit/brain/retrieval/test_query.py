"""Whatever somebody types is a query, means what it says, and is never an error within its limits."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from limen.brain.retrieval.query import MAX_QUERY_CHARS, Atom, Query, clean, format_query, parse_query
from limen.errors import InvalidArguments
from tests.requirements import requirement

TYPED = st.lists(
    st.sampled_from(
        [
            "AND",
            "OR",
            "NOT",
            '"',
            '"a b"',
            "x*",
            "*",
            "(",
            ")",
            "the",
            "what",
            "C++",
            "snake_case",
            "谁发明",
            "-",
            "?",
            "IT",
        ]
    )
    | st.text(max_size=8),
    max_size=12,
).map(" ".join)


def words(*texts: str) -> tuple[Atom, ...]:
    return tuple(Atom("word", text) for text in texts)


def phrase(text: str) -> Atom:
    return Atom("phrase", text)


@given(TYPED | st.text(max_size=200))
@example('"')
@example('""a b""')
@example("(AND) OR NOT *")
@requirement("search.no-syntax-error")
def test_any_text_is_a_query_and_says_the_same_when_it_is_written_again(text: str) -> None:
    query = parse_query(text)
    assert parse_query(format_query(query)) == query


@given(st.text(max_size=200))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    "text", ["", " ", '"', '""', "*", "**", "AND", "OR OR", "NOT", "()", '" "', "\u200b\ufeff", "\x00"]
)
def test_what_says_nothing_is_an_empty_query(text: str) -> None:
    assert parse_query(text) == Query()


def test_plain_words_are_wanted_and_stop_words_are_dropped() -> None:
    assert parse_query("What is the capital of France?") == Query(should=words("capital", "France"))


def test_stop_words_stay_when_there_is_nothing_else() -> None:
    assert parse_query("to be or not to be").should == words("to", "be", "or", "not")


def test_stop_words_stay_beside_operators_and_quotes() -> None:
    assert parse_query("the AND who").must == (words("the"), words("who"))
    assert parse_query('"the who" in concert').should == words("in", "concert")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("wer hat die Rechnung bezahlt", "hat die Rechnung bezahlt"),
        ("dónde está la estación", "estación"),
        ("qui est le directeur", "directeur"),
        ("где находится ключ", "находится ключ"),
        ("war in Germany", "war Germany"),
        ("What did Will say in May", "Will say May"),
        ("vitamin D and US policy", "vitamin D US policy"),
    ],
)
def test_stop_words_of_other_languages_are_dropped_and_names_are_not(text: str, kept: str) -> None:
    assert parse_query(text).should == words(*kept.split())


def test_a_question_without_spaces_is_cut_at_its_question_word() -> None:
    assert parse_query("谁发明了电话\uff1f").should == words("发明了电话")


def test_a_quoted_phrase_must_occur() -> None:
    assert parse_query('"exact words" rest') == Query(must=((phrase("exact words"),),), should=words("rest"))


def test_typographic_quotes_are_quotes() -> None:
    assert parse_query("“exact words”").must == ((phrase("exact words"),),)


def test_in_a_question_a_quoted_phrase_only_helps() -> None:
    query = parse_query('When did Melanie read "nothing is impossible"?')
    assert query == Query(should=(*words("Melanie", "read"), phrase("nothing is impossible")))


@pytest.mark.parametrize("text", ['"half a pair', 'half" a pair', 'half a pair"'])
def test_half_a_pair_of_quotes_is_not_there(text: str) -> None:
    assert parse_query(text).should == words("half", "pair")


def test_or_binds_tighter_than_and() -> None:
    assert parse_query("tea OR coffee AND sugar").must == (words("tea", "coffee"), words("sugar"))
    assert parse_query("(tea OR coffee) AND sugar").must == (words("tea", "coffee"), words("sugar"))


def test_not_forbids_what_follows_it() -> None:
    assert parse_query("tea NOT green") == Query(should=words("tea"), must_not=words("green"))
    assert parse_query("tea AND NOT green") == Query(must=(words("tea"),), must_not=words("green"))
    assert parse_query('tea NOT "green tea"').must_not == (phrase("green tea"),)


@pytest.mark.parametrize(
    ("text", "should"),
    [
        ("NOT tea", "tea"),
        ("tea OR", "tea"),
        ("AND tea", "tea"),
        ("tea AND", "tea"),
        ("NEAR(", "NEAR"),
        ("tea NOT", "tea"),
    ],
)
def test_an_operator_with_nothing_to_join_is_not_there(text: str, should: str) -> None:
    assert parse_query(text) == Query(should=words(should))


def test_operators_count_in_capitals_and_between_spaces_only() -> None:
    assert parse_query("tea and or not coffee") == Query(should=words("tea", "coffee"))
    assert parse_query("R&D ANDROID").should == words("R&D", "ANDROID")


def test_a_star_at_the_end_asks_for_a_beginning() -> None:
    assert parse_query("conf* file") == Query(should=(Atom("prefix", "conf"), *words("file")))
    assert parse_query("co*nf").should == words("co*nf")


def test_punctuation_around_words_goes_and_within_them_stays() -> None:
    assert parse_query("(C++, C#; [src/limen/app.py] snake_case!)").should == words(
        "C++", "C#", "src/limen/app.py", "snake_case"
    )


def test_text_is_brought_into_one_form() -> None:
    assert clean("\ufeffcafe\u0301  \t au\u200blait\x00") == "café aulait"


@pytest.mark.parametrize("text", ["x" * (MAX_QUERY_CHARS + 1), "term " * 10_000])
def test_a_query_beyond_its_limit_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        parse_query(text)
    assert refused.value.facts == {"field": "query"}


def test_a_query_at_its_limit_is_read() -> None:
    assert parse_query("x" * MAX_QUERY_CHARS).should == words("x" * MAX_QUERY_CHARS)
