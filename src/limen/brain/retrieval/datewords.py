"""Finds the days, months, seasons and years that a text names, one by one; what stands around them is not its concern.

English, and numeric dates of any language. A date without its year is the nearest one that is not in the future.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from limen.brain.retrieval.calendardays import (
    bounded,
    day_of,
    month_of,
    month_span,
    season_span,
    shift_months,
    weekday_of,
    year_of,
    year_span,
)

__all__ = ["COUNT", "UNIT", "WEEKDAY", "Named", "count_of", "moved", "named_days", "slack", "weekday_number"]

Reading = tuple[int, int]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_COUNTS = {
    word: number
    for number, words in enumerate(
        (
            "",
            "a an one",
            "two couple",
            "three few",
            "four",
            "five several",
            "six half-dozen",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve dozen",
        )
    )
    for word in words.split()
} | {"fifteen": 15, "twenty": 20, "thirty": 30}
_MOST = 10**6

MONTH = (
    "(?P<month>january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
WEEKDAY = "(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
COUNT = (
    r"(?P<count>\d{1,9}|(?:an?\s+)?(?:couple|few|dozen|half-dozen)(?:\s+of)?|an?|one|two|three|four|five|six|seven|eight"
    "|nine|ten|eleven|twelve|fifteen|twenty|thirty|several)"
)
UNIT = "(?P<unit>day|week|fortnight|weekend|month|year)s?"
_DAY = r"(?<![\d:.])(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})(?![\d:])"
_SEASON = "(?P<season>spring|summer|autumn|fall|winter)"
_WHICH = "(?P<which>last|past|previous|this|current|next|coming)"
_LEAD = (
    r"\b(?:in|on|of|by|at|to|and|from|since|during|until|till|before|after|around|between|throughout|early|mid|late)"
)


@dataclass(frozen=True, slots=True)
class Named:
    """A date in a text: where it stands, what it may mean, and how sure that is."""

    start: int
    end: int
    readings: tuple[Reading, ...]
    confidence: float
    is_relative: bool = False


Meaning = tuple[tuple[Reading, ...], float, bool]
Rule = tuple[re.Pattern[str], Callable[[re.Match[str], int], Meaning | None]]


def named_days(text: str, today: int) -> list[Named]:
    """Every date the text names, in the order of the text; `today` is the day the question is asked on."""
    found: list[Named] = []
    for pattern, mean in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span("what") if "what" in pattern.groupindex else match.span()
            if any(start < other.end and other.start < end for other in found):
                continue
            meaning = mean(match, today)
            if meaning is not None:
                readings, confidence, is_relative = meaning
                found.append(Named(start, end, readings, confidence, is_relative))
    return sorted(found, key=lambda named: named.start)


def count_of(words: str) -> int:
    """How many: `3`, `two`, `a couple of`."""
    last = [word for word in words.lower().split() if word != "of"][-1]
    return min(_MOST, int(last)) if last.isdigit() else _COUNTS[last]


def weekday_number(name: str) -> int:
    """0 for Monday."""
    return _WEEKDAYS.index(name.lower()[:3])


def moved(day: int, count: int, unit: str) -> int:
    """The day so many units later, or earlier when the count is below 0."""
    match unit.lower():
        case "month":
            return shift_months(day, count)
        case "year":
            return shift_months(day, 12 * count)
        case "week" | "weekend":
            return bounded(day + 7 * count)
        case "fortnight":
            return bounded(day + 14 * count)
        case _:
            return bounded(day + count)


def slack(count: int, unit: str) -> int:
    """How many days off people are when they count in this unit."""
    match unit.lower():
        case "year":
            return 90 * min(count, 2)
        case "month":
            return 10 if count < 6 else 15
        case "week" | "fortnight" | "weekend":
            return 3
        case _:
            return 0 if count <= 3 else 1


def _full(match: re.Match[str], _: int) -> Meaning | None:
    month = _month(match["month"]) if "month" in match.re.groupindex else int(match["number"])
    day = day_of(int(match["year"]), month, int(match["day"]))
    return None if day is None else (((day, day),), 1.0, False)


def _slashed(match: re.Match[str], _: int) -> Meaning | None:
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    year += 2000 if year < 100 else 0
    days = {day_of(year, first, second), day_of(year, second, first)} - {None}
    readings = tuple(sorted((day, day) for day in days if day is not None))
    return (readings, 0.9 / len(readings), False) if readings else None


def _month_and_year(match: re.Match[str], _: int) -> Meaning | None:
    month = _month(match["month"]) if "month" in match.re.groupindex else int(match["number"])
    if not 1 <= month <= 12:
        return None
    return (month_span(int(match["year"]), month),), 1.0, False


def _season_and_year(match: re.Match[str], _: int) -> Meaning:
    return (season_span(match["season"].lower(), int(match["year"])),), 0.7, False


def _quarter(match: re.Match[str], _: int) -> Meaning:
    year, first = int(match["year"]), 3 * int(match["quarter"]) - 2
    return ((month_span(year, first)[0], month_span(year, first + 2)[1]),), 1.0, False


def _decade(match: re.Match[str], _: int) -> Meaning:
    return (year_span(int(match["year"]), int(match["year"]) + 9),), 0.8, False


def _year_alone(match: re.Match[str], _: int) -> Meaning:
    return (year_span(int(match["year"])),), 0.9 if match["lead"] else 0.5, False


def _day_and_month(match: re.Match[str], today: int) -> Meaning | None:
    month, number = _month(match["month"]), int(match["day"])
    years = (year_of(today) - back for back in range(9))
    days = (day_of(year, month, number) for year in years)
    past = next((day for day in days if day is not None and day <= today), None)
    return None if past is None else (((past, past),), 0.7, False)


def _month_alone(match: re.Match[str], today: int) -> Meaning:
    month = _month(match["month"])
    return (month_span(year_of(today) - (month > month_of(today)), month),), 0.6, True


def _ago(match: re.Match[str], today: int) -> Meaning:
    count, unit = count_of(match["count"]), match["unit"]
    day, off = moved(today, -count, unit), slack(count, unit)
    return ((bounded(day - off), bounded(day + off)),), 0.9, True


def _stretch(match: re.Match[str], today: int) -> Meaning:
    count = count_of(match["count"]) if match["count"] else 1
    return ((moved(today, -count, match["unit"]), today),), 0.9, True


def _plain_word(match: re.Match[str], today: int) -> Meaning:
    word = match.group().lower()
    day = today - 1 if word in {"yesterday", "last night"} else today + 1 if word == "tomorrow" else today
    return ((bounded(day), bounded(day)),), 0.9, True


def _weekday_alone(match: re.Match[str], today: int) -> Meaning:
    day = bounded(today - (weekday_of(today) - weekday_number(match["weekday"])) % 7)
    return ((day, day),), 0.5, True


def _which_weekday(match: re.Match[str], today: int) -> Meaning:
    number = weekday_number(match["weekday"])
    monday = today - weekday_of(today)
    match _step(match["which"]):
        case -1:
            day = today - 1 - (weekday_of(today) - 1 - number) % 7
        case 1:
            day = monday + 7 + number
        case _:
            day = monday + number
    return ((bounded(day), bounded(day)),), 0.8, True


def _which_month(match: re.Match[str], today: int) -> Meaning:
    month, year, step = _month(match["month"]), year_of(today), _step(match["which"])
    if step < 0 and month >= month_of(today):
        year -= 1
    if step > 0 and month <= month_of(today):
        year += 1
    return (month_span(year, month),), 0.9, True


def _which_season(match: re.Match[str], today: int) -> Meaning:
    season, year, step = match["season"].lower(), year_of(today), _step(match["which"])
    while step <= 0 and season_span(season, year)[step] > today + step:
        year -= 1
    while step > 0 and season_span(season, year)[0] <= today and year < 9999:
        year += 1
    return (season_span(season, year),), 0.7, True


def _which_unit(match: re.Match[str], today: int) -> Meaning:
    step, monday = _step(match["which"]), today - weekday_of(today)
    match match["unit"].lower():
        case "year":
            span = year_span(year_of(today) + step)
        case "month":
            span = month_span(year_of(today), month_of(today) + step)
        case "weekend":
            span = (monday + 7 * step + 5, monday + 7 * step + 6)
        case _:
            span = (monday + 7 * step, monday + 7 * step + 6)
    return ((bounded(span[0]), bounded(span[1])),), 0.9, True


def _before_last(match: re.Match[str], today: int) -> Meaning:
    begin = moved(today - weekday_of(today), -2, match["unit"])
    if match["unit"].lower() in {"month", "year"}:
        first = moved(today, -2, match["unit"])
        whole = month_span(year_of(first), month_of(first))
        return (whole if match["unit"].lower() == "month" else year_span(year_of(first)),), 0.9, True
    return ((begin, bounded(begin + 6)),), 0.9, True


def _month(name: str) -> int:
    return _MONTHS.index(name.lower()[:3]) + 1


def _step(which: str) -> int:
    word = which.lower()
    return -1 if word in {"last", "past", "previous"} else 1 if word in {"next", "coming"} else 0


def _rules() -> Iterator[Rule]:
    def rule(pattern: str, mean: Callable[[re.Match[str], int], Meaning | None]) -> Rule:
        return re.compile(pattern, re.IGNORECASE), mean

    yield rule(r"(?<![\d.-])(?P<year>\d{4})([-/.])(?P<number>\d{1,2})\2(?P<day>\d{1,2})(?!\d)", _full)
    yield rule(r"(?P<year>\d{4})年\s?(?P<number>\d{1,2})月\s?(?P<day>\d{1,2})日", _full)
    yield rule(rf"{_DAY}(?:\s+of)?[\s-]+{MONTH}(?:\s+of)?[\s,-]+{_YEAR}", _full)
    yield rule(rf"\b{MONTH}\s+(?:the\s+)?{_DAY}[\s,]+{_YEAR}", _full)
    yield rule(r"(?<![\d.])(?P<day>\d{1,2})\.\s?(?P<number>\d{1,2})\.\s?(?P<year>\d{4})(?!\d)", _full)
    yield rule(r"(?<![\d/])(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4}|\d\d)(?![\d/])", _slashed)
    yield rule(r"(?<![\d.-])(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)(?![\d-])", _month_and_year)
    yield rule(r"(?P<year>\d{4})年\s?(?P<number>\d{1,2})月", _month_and_year)
    yield rule(rf"\b{MONTH}(?:\s+of)?[\s,]+{_YEAR}", _month_and_year)
    yield rule(rf"\b{_SEASON}(?:\s+of)?[\s,]+{_YEAR}", _season_and_year)
    yield rule(rf"\bq(?P<quarter>[1-4])(?:\s+of)?[\s,/-]+{_YEAR}", _quarter)
    yield rule(r"\b(?P<year>(?:19|20)\d0)s\b", _decade)
    yield rule(rf"\b{UNIT}\s+before\s+last\b", _before_last)
    yield rule(rf"\b{COUNT}\s+{UNIT}\s+(?:ago|back)\b", _ago)
    yield rule(rf"\b(?:past|last|previous)\s+{COUNT}\s+{UNIT}\b", _stretch)
    yield rule(r"\b(?P<count>)past\s+(?P<unit>week|month|year)\b", _stretch)
    yield rule(rf"\b{_WHICH}\s+{WEEKDAY}\b", _which_weekday)
    yield rule(rf"\b{_WHICH}\s+{MONTH}(?!\w)", _which_month)
    yield rule(rf"\b{_WHICH}\s+{_SEASON}\b", _which_season)
    yield rule(rf"\b{_WHICH}\s+(?P<unit>week|weekend|month|year)\b", _which_unit)
    yield rule(rf"{_DAY}(?:\s+of)?\s+{MONTH}(?!\w)", _day_and_month)
    yield rule(rf"\b{MONTH}\s+(?:the\s+)?{_DAY}(?![\d:])", _day_and_month)
    yield rule(r"\b(?:yesterday|today|tonight|tomorrow|last night|this (?:morning|afternoon|evening))\b", _plain_word)
    yield rule(rf"{_LEAD}[\s-]+(?P<what>{MONTH})(?!\w)", _month_alone)
    yield rule(
        rf"\b(?:(?P<lead>{_LEAD[2:]}|year)\s+)?(?P<what>(?<![\d.,#/$€£-])(?P<year>(?:19|20)\d\d))(?![\d%]|[.,:/-]\d)\b",
        _year_alone,
    )
    yield rule(rf"\b{WEEKDAY}\b", _weekday_alone)


_RULES = tuple(_rules())
