"""From a PDF to markdown, page by page, read in a child process; refuses protected and broken files and pictures."""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from limen.brain.days import find_date
from limen.brain.ingest.apart import read_apart
from limen.brain.ingest.limits import Budget
from limen.errors import Unreadable

__all__ = ["PdfText", "read_pdf"]

_CHILD: Final = "limen.brain.ingest.pdfchild"
_BROKEN_WORD: Final = re.compile("[\ufffe\x02]\r?\n?")
"""PDFium's sign for a hyphen at the end of a line."""
_LOOKS_MARKED: Final = re.compile(r"^(#{1,6}[ \t]|```|~~~|---)", re.MULTILINE)


class PdfText(Struct, frozen=True, kw_only=True):
    """What a PDF says."""

    markdown: str
    title: str | None
    date: str | None
    pages: int


def read_pdf(content: bytes, budget: Budget) -> PdfText:
    """The text of a PDF, under a heading for each page when it has several.

    PDFium is a large C++ library that reads what anybody sends, so always in a child: some 100 ms of CPU for a file
    of one page, nearly all of it the start of Python, against less than 1 ms in the hub itself (measured).

    Raises:
        Unreadable: it is protected, broken, has too many pages or no text.
        FileTooLarge: it holds too much text.
    """
    pages = _Pages(budget)
    read_apart(_CHILD, content, budget, pages.take)
    return pages.finish()


class _Pages:
    """What the child tells, as it comes."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._count = 0
        self._texts: list[tuple[int, str]] = []
        self._title = ""
        self._created = ""

    def take(self, message: Mapping[str, Any]) -> None:
        budget = self._budget
        match message:
            case {"pages": int(count)}:
                budget.check_parts(count, "pages")
                self._count = count
            case {"page": int(number), "text": str(text)}:
                budget.spend_chars(len(text))
                budget.tell(number, self._count)
                if clean := _clean(text):
                    self._texts.append((number, clean))
            case {"title": str(title), "created": str(created)}:
                self._title, self._created = " ".join(title.split()), created
            case {"fault": str(fault)}:
                raise Unreadable(f"{budget.name!r}: {_reason(fault)}", field="path")
            case _:
                raise Unreadable(f"{budget.name!r}: the reader of this PDF tells nothing that makes sense")

    def finish(self) -> PdfText:
        if not self._texts:
            raise Unreadable(
                f"{self._budget.name!r}: this PDF holds no text, perhaps only pictures of it; run OCR on it first"
            )
        parts = [f"## Page {number}\n\n{text}" if self._count > 1 else text for number, text in self._texts]
        return PdfText(
            markdown="\n\n".join(parts) + "\n",
            title=self._title or None,
            date=_date(self._created),
            pages=self._count,
        )


def _reason(told: str) -> str:
    if "password" in told.lower() or "security" in told.lower():
        return "this PDF is protected by a password; save it without one"
    return "this is not a PDF, or a damaged one; open it and save it anew"


def _clean(text: str) -> str:
    whole = _BROKEN_WORD.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _LOOKS_MARKED.sub(r"\\\1", "\n".join(line.rstrip() for line in whole.split("\n"))).strip()


def _date(written: str) -> str | None:
    """PDF writes `D:20230508135600+02'00'`."""
    day = find_date(written.removeprefix("D:")[:8])
    return day.isoformat() if day else None
