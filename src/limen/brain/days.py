"""Calendar days as documents write them: in fields, names and titles; never guesses which of two numbers is the month.

Only absolute dates: what "last week" means is for the one who knows when it was said.
"""

import re
from datetime import UTC, date, datetime
from typing import Final

__all__ = ["MONTHS", "day_number", "find_date", "find_path_date", "read_date"]

_EPOCH: Final = date(1970, 1, 1).toordinal()
_MOST_CHARS: Final = 200
"""A date stands near the beginning of a field or not at all."""
_FIRST_SECOND, _LAST_SECOND = 10**8, 4 * 10**9
"""Numbers between these are seconds since 1970 (of 1973 to 2096), a thousand times as large milliseconds."""

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_MONTHS: Final = {
    name: number for number, month in enumerate(MONTHS, 1) for name in (month.lower(), month[:3].lower())
} | {"sept": 9}
_MONTH: Final = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + ")"
_WRITTEN: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})(?P<mark>[-/.])(?P<number>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s{{1,3}}of)?[\s.\-]{{0,3}}{_MONTH}\b[\s.,\-]{{1,3}}(?P<year>\d{{4}})(?!\d)",
        rf"\b{_MONTH}\b\.?\s{{1,3}}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s,]{{1,3}}(?P<year>\d{{4}})(?!\d)",
        r"(?<!\d)(?P<day>\d{1,2})\.\s?(?P<number>\d{1,2})\.\s?(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<year>(?:19|20|21)\d\d)(?P<number>\d\d)(?P<day>\d\d)(?!\d)",
    )
)
_IN_PATH: Final = re.compile(r"(?<!\d)((?:19|20|21)\d\d)([-_./]?)(\d\d)\2(\d\d)(?!\d)")


def day_number(day: date) -> int:
    """Days since 1970-01-01."""
    return day.toordinal() - _EPOCH


def find_date(text: str) -> date | None:
    """The first full date near the beginning of a text: `2023-05-08`, `8 May 2023`, `May 8th, 2023`, `8.5.2023`."""
    if not any(char.isdigit() for char in text[:_MOST_CHARS]):
        return None
    found: list[tuple[int, date]] = []
    for pattern in _WRITTEN:
        for match in pattern.finditer(text, 0, _MOST_CHARS):
            day = _date_of(match)
            if day is not None:
                found.append((match.start(), day))
                break
    return min(found)[1] if found else None


def read_date(value: object) -> date | None:
    """The day a field names: written out, or counted in seconds or milliseconds since 1970."""
    match value:
        case datetime():
            return value.date()
        case date():
            return value
        case str():
            return find_date(value)
        case bool():
            return None
        case int() | float():
            return _date_of_number(value)
        case _:
            return None


def find_path_date(path: str) -> date | None:
    """The day in the name of a file, else in the names of its folders: `2023-05-08.md`, `journal/2023/05/08.md`."""
    days = [day for match in _IN_PATH.finditer(path) if (day := _valid(match[1], match[3], match[4]))]
    return days[-1] if days else find_date(path.rpartition("/")[2])


def _date_of(match: re.Match[str]) -> date | None:
    parts = match.groupdict()
    if "first" in parts:
        first, second = int(parts["first"]), int(parts["second"])
        # 3/4/2023 is March to some and April to others.
        if (first > 12) == (second > 12) and first != second:
            return None
        month, day = (first, second) if second > 12 or first == second else (second, first)
        return _valid(parts["year"], month, day)
    month = _MONTHS[parts["month"].lower()] if "month" in parts else parts["number"]
    return _valid(parts["year"], month, parts["day"])


def _date_of_number(value: float) -> date | None:
    if isinstance(value, int) and 19_000_101 <= value <= 21_991_231:
        return find_date(str(value))
    for unit in (1, 1000):
        if _FIRST_SECOND <= value / unit <= _LAST_SECOND:
            return datetime.fromtimestamp(value / unit, UTC).date()
    return None


def _valid(year: str, month: str | int, day: str | int) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
