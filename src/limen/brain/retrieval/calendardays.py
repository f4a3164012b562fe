"""Days as numbers since 1970-01-01, and the spans people name: weeks, months, seasons, years; pure arithmetic.

Nothing here raises on a year out of range: what lies beyond the calendar is cut at its ends.
"""

from datetime import date, timedelta

from limen.brain.days import day_number

__all__ = [
    "FIRST_DAY",
    "LAST_DAY",
    "bounded",
    "day_of",
    "iso_of",
    "month_of",
    "month_span",
    "season_span",
    "shift_months",
    "weekday_of",
    "year_of",
    "year_span",
]

FIRST_DAY = day_number(date.min)
LAST_DAY = day_number(date.max)
_EPOCH = date(1970, 1, 1)
_SEASON_STARTS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def bounded(day: int) -> int:
    """The day, or the end of the calendar it lies beyond."""
    return max(FIRST_DAY, min(LAST_DAY, day))


def day_of(year: int, month: int, day: int) -> int | None:
    """The number of a day, None when there is no such day."""
    try:
        return day_number(date(year, month, day))
    except ValueError:
        return None


def iso_of(day: int) -> str:
    """The day as `2023-05-08`."""
    return _date(day).isoformat()


def year_of(day: int) -> int:
    """The year the day lies in."""
    return _date(day).year


def month_of(day: int) -> int:
    """The month the day lies in, from 1 to 12."""
    return _date(day).month


def weekday_of(day: int) -> int:
    """0 for Monday to 6 for Sunday."""
    return _date(day).weekday()


def month_span(year: int, month: int) -> tuple[int, int]:
    """First and last day of a month; months above 12 and below 1 run on into other years."""
    first = _first_of(year, month)
    return first, max(first, _first_of(year, month + 1) - 1) if first < LAST_DAY - 31 else LAST_DAY


def year_span(first: int, last: int | None = None) -> tuple[int, int]:
    """First and last day of a year, or of several."""
    begin = _first_of(first, 1)
    return begin, max(begin, month_span(first if last is None else last, 12)[1])


def season_span(name: str, year: int) -> tuple[int, int]:
    """First and last day of a season of the northern hemisphere; winter runs into the next year."""
    start = _SEASON_STARTS[name]
    return month_span(year, start)[0], month_span(year, start + 2)[1]


def shift_months(day: int, months: int) -> int:
    """The same day so many months later, or the last day of a month that is too short."""
    at = _date(day)
    first, last = month_span(at.year, at.month + months)
    return min(last, first + at.day - 1)


def _date(day: int) -> date:
    return _EPOCH + timedelta(days=bounded(day))


def _first_of(year: int, month: int) -> int:
    years, index = divmod(month - 1, 12)
    if year + years < 1:
        return FIRST_DAY
    if year + years > 9999:
        return LAST_DAY
    return day_number(date(year + years, index + 1, 1))
