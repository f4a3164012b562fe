"""What questions say about time is understood, relative to the day they are asked on, and never upside down."""

import string
from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.retrieval.calendardays import FIRST_DAY, LAST_DAY, day_of, iso_of, shift_months
from limen.brain.retrieval.dates import dates_in, read_day
from limen.errors import InvalidArguments
from tests.requirements import requirement

WEDNESDAY = day_of(2023, 6, 14) or 0
SAID = st.lists(
    st.sampled_from(
        [
            "last",
            "this",
            "next",
            "past",
            "two",
            "3",
            "99999999",
            "weeks",
            "days",
            "months",
            "years",
            "ago",
            "before",
            "after",
            "since",
            "until",
            "between",
            "and",
            "from",
            "to",
            "the",
            "week",
            "weekend",
            "Friday",
            "May",
            "March",
            "8",
            "8th",
            "2023",
            "2023-05-08",
            "31/12/1999",
            "5/8/2023",
            "summer",
            "winter",
            "early",
            "late",
            "of",
            "in",
            "on",
            "yesterday",
            "tomorrow",
            "Q3",
            "1990s",
            "0001-01-01",
            "9999-12-31",
            "around",
            "first",
            "half",
        ]
    )
    | st.text(string.printable, max_size=6),
    max_size=10,
).map(" ".join)


def spans(text: str) -> list[tuple[str, str]]:
    return [(iso_of(span.first_day), iso_of(span.last_day)) for span in dates_in(text, today=WEDNESDAY).spans]


@given(SAID, st.integers(FIRST_DAY, LAST_DAY))
@requirement("search.dates")
def test_a_span_never_ends_before_it_begins_nor_leaves_the_calendar(text: str, today: int) -> None:
    for span in dates_in(text, today=today).spans:
        assert FIRST_DAY <= span.first_day <= span.last_day <= LAST_DAY
        assert 0 < span.confidence <= 1
        assert span.words in text


@given(st.dates())
@requirement("search.dates")
def test_an_iso_date_means_its_day_in_any_sentence(day: date) -> None:
    text = f"что случилось {day} ?"
    assert spans(text) == [(str(day), str(day))]
    assert iso_of(read_day(str(day))) == str(day)


@given(st.integers(FIRST_DAY, LAST_DAY), st.integers(-1200, 1200))
@requirement("search.dates")
def test_moving_by_months_stays_in_the_calendar(day: int, months: int) -> None:
    assert FIRST_DAY <= shift_months(day, months) <= LAST_DAY


@pytest.mark.parametrize("text", ["2023-05-08", "8 May 2023", "May 8th 2023", "May 8, 2023", "the 8th of May, 2023"])
@requirement("search.dates")
def test_a_full_date_is_one_day_however_it_is_written(text: str) -> None:
    assert spans(f"what happened on {text}?") == [("2023-05-08", "2023-05-08")]


@requirement("search.dates")
def test_a_date_of_two_readings_has_both_and_is_less_sure() -> None:
    assert spans("on 5/8/2023") == [("2023-05-08", "2023-05-08"), ("2023-08-05", "2023-08-05")]
    assert spans("on 25/12/2022") == [("2022-12-25", "2022-12-25")]
    ambiguous = dates_in("5/8/2023", today=WEDNESDAY).spans[0]
    assert ambiguous.confidence < dates_in("8 May 2023", today=WEDNESDAY).spans[0].confidence


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("May 2023", "2023-05-01", "2023-05-31"),
        ("in 2022", "2022-01-01", "2022-12-31"),
        ("last March", "2023-03-01", "2023-03-31"),
        ("last July", "2022-07-01", "2022-07-31"),
        ("in May", "2023-05-01", "2023-05-31"),
        ("in December", "2022-12-01", "2022-12-31"),
        ("this year", "2023-01-01", "2023-12-31"),
        ("last year", "2022-01-01", "2022-12-31"),
        ("last month", "2023-05-01", "2023-05-31"),
        ("last week", "2023-06-05", "2023-06-11"),
        ("last weekend", "2023-06-10", "2023-06-11"),
        ("last Friday", "2023-06-09", "2023-06-09"),
        ("last Wednesday", "2023-06-07", "2023-06-07"),
        ("on Wednesday", "2023-06-14", "2023-06-14"),
        ("yesterday", "2023-06-13", "2023-06-13"),
        ("the day before yesterday", "2023-06-12", "2023-06-12"),
        ("3 days ago", "2023-06-11", "2023-06-11"),
        ("two weeks ago", "2023-05-28", "2023-06-03"),
        ("3 months ago", "2023-03-04", "2023-03-24"),
        ("the past 10 days", "2023-06-04", "2023-06-14"),
        ("the last two weeks", "2023-05-31", "2023-06-14"),
        ("the week before 9 June 2023", "2023-06-02", "2023-06-08"),
        ("the week of 9 June 2023", "2023-06-05", "2023-06-11"),
        ("the weekend before April 10, 2023", "2023-04-08", "2023-04-09"),
        ("the Friday before 9 June 2023", "2023-06-02", "2023-06-02"),
        ("two weeks before August 11, 2023", "2023-07-25", "2023-07-31"),
        ("summer 2022", "2022-06-01", "2022-08-31"),
        ("last summer", "2022-06-01", "2022-08-31"),
        ("last winter", "2022-12-01", "2023-02-28"),
        ("early May 2023", "2023-05-01", "2023-05-11"),
        ("Q3 2022", "2022-07-01", "2022-09-30"),
        ("the 1990s", "1990-01-01", "1999-12-31"),
        ("between March and May 2020", "2020-03-01", "2020-05-31"),
        ("from 3 December to 4 January 2021", "2020-12-03", "2021-01-04"),
        ("since May 2022", "2022-05-01", "9999-12-31"),
        ("before 2020", "0001-01-01", "2019-12-31"),
        ("after 8 May 2023", "2023-05-09", "9999-12-31"),
        ("until June 2022", "0001-01-01", "2022-06-30"),
        ("2023年5月8日", "2023-05-08", "2023-05-08"),
        ("am 8.5.2023", "2023-05-08", "2023-05-08"),
    ],
)
@requirement("search.dates")
def test_time_is_understood_from_the_day_of_the_question(text: str, first: str, last: str) -> None:
    assert spans(text) == [(first, last)]


@pytest.mark.parametrize(
    "text", ["May I march in?", "2024-02-30", "v2.2021", "call 555-2020", "costs $2000", "no dates"]
)
@requirement("search.dates")
def test_what_is_no_date_is_not_taken_for_one(text: str) -> None:
    assert spans(text) == []


@requirement("search.dates")
def test_what_is_reckoned_from_today_counts_less_beside_a_date() -> None:
    alone, beside = "last Friday", "last Friday on 23 January, 2022"
    assert dates_in(beside, today=WEDNESDAY).spans[0].confidence < dates_in(alone, today=WEDNESDAY).spans[0].confidence


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("the latest plan", "latest"),
        ("most recent trip", "latest"),
        ("where does she currently work", "latest"),
        ("what is he doing now", "latest"),
        ("the first time they met", "earliest"),
        ("her earliest memory", "earliest"),
        ("her first name", None),
        ("the plan", None),
    ],
)
@requirement("search.dates")
def test_questions_say_whether_the_newest_or_the_oldest_is_wanted(text: str, order: str | None) -> None:
    assert dates_in(text, today=WEDNESDAY).order == order


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-08",
        "2023-05-08T10:00:00Z",
        "2023-05-08T23:59:59+14:00",
        "20230508",
        "2023/05/08 (Mon) 02:21",
        "1:56 pm on 8 May, 2023",
        "2023-05-08 10:00 Europe/Berlin",
        "8 May 2023 +0200",
    ],
)
@requirement("search.dates")
def test_the_day_of_a_question_is_the_one_that_is_written(text: str) -> None:
    assert iso_of(read_day(text)) == "2023-05-08"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "5/8/2023",
        "May 2023",
        "2023-05-08T00:00:00+99:99",
        "2023-05-08 Mars/Phobos",
        "2023-05-08 ../../etc/passwd",
        "2023-05-08; drop",
        "2023-05-08 +25:00",
        "2023-05-08 and 2023-05-09",
        "\x00",
        "9" * 5000,
    ],
)
@requirement("search.dates")
def test_a_day_that_is_none_or_a_zone_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        read_day(text, field="question_date")
    assert refused.value.facts == {"field": "question_date"}


@given(st.text(max_size=60))
@requirement("search.dates")
def test_any_text_is_a_day_or_refused(text: str) -> None:
    with suppress(InvalidArguments):
        assert FIRST_DAY <= read_day(text) <= LAST_DAY
