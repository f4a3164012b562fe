"""Time as Limen writes it down, and durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.clock import now_ms, parse_duration_s, timestamp


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1_700_000_000_999, "2023-11-14T22:13:20.999Z"),
        (951_827_696_050, "2000-02-29T12:34:56.050Z"),
    ],
)
def test_a_timestamp_is_utc_with_milliseconds(ms: int, text: str) -> None:
    assert timestamp(ms) == text


def test_a_timestamp_without_a_time_is_now() -> None:
    assert timestamp(now_ms() - 1000) < timestamp()


@given(st.integers(0, 4_000_000_000_000), st.integers(0, 4_000_000_000_000))
def test_timestamps_sort_as_their_times_do(one: int, other: int) -> None:
    assert (timestamp(one) < timestamp(other)) == (one < other)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("90", 90), ("90s", 90), ("5m", 300), ("1.5h", 5400), ("7d", 604800), ("250ms", 0.25), (" 1m ", 60)],
)
def test_a_duration_is_read_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "m5", "-1s", "-1", "1w", "nan", "inf", "infs", "1 2s", "five minutes", "1e400h"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - float() and ours say it each in its own words
        parse_duration_s(text)
