"""Cuts long stretches of text into spans that end where a reader would pause; knows characters, not markdown."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

__all__ = ["ITEMS", "LINES", "MOST", "SENTENCES", "TARGET", "Span", "cut", "trim"]

Span = tuple[int, int]

TARGET: Final = 1000
"""Characters a passage should have at most."""
MOST: Final = 1200
"""Characters a passage of running text has at most."""

# Each looks behind for what ends a piece, so that no run of such characters is walked twice.
SENTENCES: Final = re.compile(
    r"(?<=[.!?\u2026\u061f\u06d4\u0964])\s+|(?<=[.!?\u2026][\"'\u201d\u2019)\]])\s+|(?<=[\u3002\uff01\uff1f])|\n\s*\n"
)
LINES: Final = re.compile(r"\n")
ITEMS: Final = re.compile(r"\n(?=[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t])")
_SPACE: Final = re.compile(r"\s")


def cut(text: str, start: int, end: int, boundary: re.Pattern[str]) -> list[Span]:
    """Spans of about `TARGET` characters that end at the boundary, or at a space, or, when there is none, anywhere."""
    if end - start <= MOST:
        return [(start, end)]
    return [trimmed for span in _cut(text, start, end, boundary) if (trimmed := trim(text, *span))]


def trim(text: str, start: int, end: int) -> Span | None:
    """The span without white space at its ends; None when it is nothing else."""
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    first = start + len(piece) - len(piece.lstrip())
    return first, first + len(stripped)


def _cut(text: str, start: int, end: int, boundary: re.Pattern[str]) -> Iterator[Span]:
    begin = last = start
    for at in chain((found.end() for found in boundary.finditer(text, start, end)), (end,)):
        if at - begin > TARGET and last > begin:
            yield begin, last
            begin = last
        while at - begin > MOST:
            pause = _pause(text, begin)
            yield begin, pause
            begin = pause
        last = at
    if begin < end:
        yield begin, end


def _pause(text: str, begin: int) -> int:
    """Where to break a stretch that has no boundary: behind the last white space that still fits."""
    half = begin + TARGET // 2
    spaces = [found.end() for found in _SPACE.finditer(text, half, begin + TARGET)]
    return spaces[-1] if spaces else begin + TARGET
