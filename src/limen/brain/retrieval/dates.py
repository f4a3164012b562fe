"""Which days a question is about, and whether it asks for the newest or the oldest; pure, and refuses to guess a zone.

What is told is reckoned from the day the question is asked on; a month of which nothing more is said is a whole month.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from limen.brain.days import day_number
from limen.brain.retrieval.calendardays import FIRST_DAY, LAST_DAY, bounded, weekday_of
from limen.brain.retrieval.datewords import (
    COUNT,
    UNIT,
    WEEKDAY,
    Named,
    count_of,
    moved,
    named_days,
    slack,
    weekday_number,
)
from limen.errors import InvalidArguments

__all__ = ["Dates", "Order", "Span", "dates_in", "read_day"]

Order = Literal["latest", "earliest"]

_RELATIVE_BESIDE_ABSOLUTE = 0.4
"""`last Friday on 23 January 2022` is a story about that day: what is reckoned from today counts less."""
_LEAD_CHARS = 60
"""How far before a date the words are looked for that place it."""
_OPEN = 0.6
"""`since May` names one end only."""

_GAP = r"\s+(?:the\s+|about\s+|around\s+)?$"
_BEFORE = {
    "part": re.compile(
        r"\b(early|mid|late|beginning of|start of|end of|first half of|second half of)[\s-]+(?:the\s+)?$", re.IGNORECASE
    ),
    "counted": re.compile(rf"\b{COUNT}\s+{UNIT}\s+(?P<side>before|prior to|after|following){_GAP}", re.IGNORECASE),
    "unit": re.compile(
        rf"\b(?P<unit>day|night|week|weekend|month|year|{WEEKDAY})\s+"
        rf"(?P<side>before|prior to|after|following|of){_GAP}",
        re.IGNORECASE,
    ),
    "range": re.compile(r"\b(?:between|from)\s+(?:the\s+)?$", re.IGNORECASE),
    "side": re.compile(
        rf"\b(?P<side>since|starting|from|before|prior to|until|till|up to|by|after|following){_GAP}", re.IGNORECASE
    ),
    "about": re.compile(r"\b(?:around|about|circa|near)\s+(?:the\s+)?$", re.IGNORECASE),
}
_TO = re.compile(r"^\s*(?:and|to|until|till|through|[-\u2013])\s*(?:the\s+)?$", re.IGNORECASE)

_HINTS: tuple[tuple[Order, float, re.Pattern[str]], ...] = (
    ("latest", 1.0, re.compile(r"\b(?:latest|most recent(?:ly)?|newest|last time)\b", re.IGNORECASE)),
    (
        "latest",
        0.8,
        re.compile(r"\b(?:currently|current|nowadays|these days|at the moment|at present)\b", re.IGNORECASE),
    ),
    ("latest", 0.4, re.compile(r"\b(?:recently|recent|lately|now|still|so far)\b", re.IGNORECASE)),
    ("earliest", 1.0, re.compile(r"\b(?:earliest|oldest|first time|originally|initially|at first)\b", re.IGNORECASE)),
    ("earliest", 0.4, re.compile(r"\bfirst\b(?!\s+(?:name|aid|lady|class|half|of all|person))", re.IGNORECASE)),
)

_CLOCK = re.compile(r"\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?\s*(?:[ap]\.?m\.?)?(?![\d:])", re.IGNORECASE)
_AROUND_A_DATE = re.compile(
    rf"\b(?:at|on|t|z|utc|gmt|{WEEKDAY}|mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)\b|[\s,.()\[\]]+", re.IGNORECASE
)
_OFFSET = re.compile(r"^[+-](\d\d):?(\d\d)?$")


class Span(Struct, frozen=True):
    """Days a question is about, both ends included, how sure that is, and the words that said it."""

    first_day: int
    last_day: int
    confidence: float
    words: str


_Placed = tuple[int, int, Span]
"""Where in the text it was said."""


class Dates(Struct, frozen=True):
    """What a question says about time."""

    spans: tuple[Span, ...] = ()
    order: Order | None = None
    """Whether the newest or the oldest is wanted."""
    order_confidence: float = 0.0
    order_words: str = ""


def dates_in(text: str, *, today: int) -> Dates:
    """Read what the text says about time; `today` is the day it was asked on, in days since 1970-01-01."""
    spans = _outermost(_placed_spans(text, named_days(text, today)))
    order, confidence, words = _order(text)
    return Dates(spans=spans, order=order, order_confidence=confidence, order_words=words)


def read_day(text: str, *, field: str = "question_date") -> int:
    """The day a caller gives: an ISO date or time, or a date written out, with a time of day and a zone or without.

    The day is the one that is written, in whatever zone it was written.

    Raises:
        InvalidArguments: it is no day, or something stands beside it that is neither a time nor a zone.
    """
    trimmed = text.strip()[:200]
    try:
        return day_number(datetime.fromisoformat(trimmed).date())
    except ValueError:
        pass
    named = [found for found in named_days(trimmed, 0) if len(found.readings) == 1 and found.confidence == 1.0]
    first, last = named[0].readings[0] if len(named) == 1 else (0, 1)
    if first != last or not _is_clock(trimmed[: named[0].start] + " " + trimmed[named[0].end :]):
        raise InvalidArguments(
            f"{field}: write a day such as 2023-05-08, or a time such as 2023-05-08T14:30:00+02:00", field=field
        )
    return first


def _is_clock(rest: str) -> bool:
    left = _AROUND_A_DATE.sub(" ", _CLOCK.sub(" ", rest, count=1)).split()
    return len(left) <= 1 and all(_is_zone(word) for word in left)


def _is_zone(word: str) -> bool:
    offset = _OFFSET.match(word)
    if offset is not None:
        return int(offset[1]) < 24 and int(offset[2] or 0) < 60
    try:
        ZoneInfo(word)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _outermost(placed: Iterable[_Placed]) -> tuple[Span, ...]:
    found = list(placed)
    # In `the Friday before 9 June` the Friday is part of what is said about June.
    return tuple(
        span
        for start, end, span in found
        if not any(low <= start and end <= high and (low, high) != (start, end) for low, high, _ in found)
    )


def _placed_spans(text: str, named: Sequence[Named]) -> Iterator[_Placed]:
    has_absolute = any(not found.is_relative and found.confidence > 0.5 for found in named)
    at = 0
    while at < len(named):
        found, until = named[at], _range_end(text, named, at)
        at += 1 if until is None else 2
        if until is not None:
            yield _range(text, found, until)
            continue
        sureness = found.confidence * (_RELATIVE_BESIDE_ABSOLUTE if found.is_relative and has_absolute else 1.0)
        for first, last in found.readings:
            yield _placed(text, found, first, last, sureness)


def _range_end(text: str, named: Sequence[Named], at: int) -> Named | None:
    lead = _BEFORE["range"].search(text, max(0, named[at].start - _LEAD_CHARS), named[at].start)
    if at + 1 == len(named) or lead is None:
        return None
    following = named[at + 1]
    return following if _TO.match(text[named[at].end : following.start]) else None


def _range(text: str, found: Named, until: Named) -> _Placed:
    high = until.readings[-1][1]
    # In `from May to June 2020` the year at the end is meant for both.
    again = next((other for other in named_days(text, high) if other.start == found.start), found)
    low = (again if found.confidence < 1.0 else found).readings[0][0]
    span = Span(min(low, high), max(low, high), until.confidence, text[found.start : until.end])
    return found.start, until.end, span


def _placed(text: str, found: Named, first: int, last: int, sureness: float) -> _Placed:
    start = found.start
    part = _BEFORE["part"].search(text, max(0, start - _LEAD_CHARS), start)
    if part is not None:
        first, last = _part(part[1].lower(), first, last)
        start = part.start()
    for name, place in (("counted", _counted), ("unit", _beside), ("side", _side), ("about", _about)):
        lead = _BEFORE[name].search(text, max(0, start - _LEAD_CHARS), start)
        if lead is not None:
            first, last, share = place(lead, first, last)
            start = lead.start()
            sureness *= share
            break
    return start, found.end, Span(bounded(first), bounded(last), sureness, text[start : found.end])


def _part(word: str, first: int, last: int) -> tuple[int, int]:
    third, half = (last - first + 1) // 3, (last - first + 1) // 2
    match word:
        case "early" | "beginning of" | "start of":
            return first, last - 2 * third
        case "mid":
            return first + third, last - third
        case "first half of":
            return first, last - half
        case "second half of":
            return first + half, last
        case _:
            return first + 2 * third, last


def _counted(lead: re.Match[str], first: int, last: int) -> tuple[int, int, float]:
    count, unit = count_of(lead["count"]), lead["unit"]
    is_before = lead["side"].lower() in {"before", "prior to"}
    day, off = moved(first, -count, unit) if is_before else moved(last, count, unit), slack(count, unit)
    return day - off, day + off, 0.9


def _beside(lead: re.Match[str], first: int, last: int) -> tuple[int, int, float]:
    unit, side = lead["unit"].lower(), lead["side"].lower()
    if side == "of":
        return (*_around(unit, first, last), 0.9)
    is_before = side in {"before", "prior to"}
    if lead["weekday"]:
        number = weekday_number(lead["weekday"])
        ahead = 1 + (number - weekday_of(bounded(last + 1))) % 7
        day = first - 1 - (weekday_of(bounded(first - 1)) - number) % 7 if is_before else last + ahead
        return day, day, 0.9
    if unit == "weekend":
        saturday = first - 1 - (weekday_of(bounded(first - 1)) - 5) % 7
        saturday = saturday if is_before else last + 1 + (5 - weekday_of(bounded(last + 1))) % 7
        return saturday, saturday + 1, 0.9
    days = {"week": 7, "month": 30, "year": 365}.get(unit, 1)
    return (first - days, first - 1, 0.9) if is_before else (last + 1, last + days, 0.9)


def _around(unit: str, first: int, last: int) -> tuple[int, int]:
    monday = first - weekday_of(first)
    if unit == "week":
        return monday, max(last, monday + 6)
    return (monday + 5, monday + 6) if unit == "weekend" else (first, last)


def _side(lead: re.Match[str], first: int, last: int) -> tuple[int, int, float]:
    match lead["side"].lower():
        case "since" | "starting" | "from":
            return first, LAST_DAY, _OPEN
        case "until" | "till" | "up to" | "by":
            return FIRST_DAY, last, _OPEN
        case "before" | "prior to":
            return FIRST_DAY, max(FIRST_DAY, first - 1), _OPEN
        case _:
            return min(LAST_DAY, last + 1), LAST_DAY, _OPEN


def _about(_: re.Match[str], first: int, last: int) -> tuple[int, int, float]:
    off = max(3, (last - first + 1) // 2)
    return first - off, last + off, 0.8


def _order(text: str) -> tuple[Order | None, float, str]:
    found: list[tuple[float, Order, str]] = [
        (sureness, order, match.group()) for order, sureness, rule in _HINTS if (match := rule.search(text))
    ]
    if not found:
        return None, 0.0, ""
    best = max(sureness for sureness, _, _ in found)
    strongest = [hint for hint in found if hint[0] == best]
    if len({order for _, order, _ in strongest}) > 1:
        return None, 0.0, ""
    sureness, order, words = strongest[0]
    return order, sureness, words
