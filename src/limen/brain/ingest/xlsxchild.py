"""A child's whole life: a workbook comes in on stdin, its sheets go out on stdout as lines of JSON. For `xlsx`."""

import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from io import BytesIO
from typing import TYPE_CHECKING, Final
from zipfile import BadZipFile

from limen.brain.ingest.confined import confine, tell

if TYPE_CHECKING:
    from openpyxl import Workbook

_ROWS: Final = 500
"""In one message."""


def main() -> None:
    """Read one workbook."""
    # Where it is used: this module is also imported by checks on machines without the extra.
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    confine(int(sys.argv[1]))
    try:
        book = load_workbook(BytesIO(sys.stdin.buffer.read()), read_only=True, data_only=True, keep_links=False)
        _tell_sheets(book)
    except (InvalidFileException, BadZipFile, KeyError, ValueError, TypeError, AttributeError, SyntaxError) as error:
        # openpyxl has no error of its own for a file that is XML but no workbook: whatever breaks then is raised.
        tell({"fault": str(error)[:500]})


def _tell_sheets(book: "Workbook") -> None:
    about = book.properties
    created = about.created.isoformat() if about.created else ""
    tell({"sheets": len(book.worksheets), "title": about.title or "", "created": created})
    for sheet in book.worksheets:
        tell({"sheet": sheet.title})
        # The size a sheet claims may be a million rows of nothing; what counts is what is there.
        sheet.reset_dimensions()
        rows: list[list[str]] = []
        for row in _filled(sheet.iter_rows(values_only=True)):
            rows.append(row)
            if len(rows) == _ROWS:
                tell({"rows": rows})
                rows = []
        if rows:
            tell({"rows": rows})


def _filled(rows: Iterator[Sequence[object]]) -> Iterator[list[str]]:
    for row in rows:
        cells = [_shown(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return str(value)


if __name__ == "__main__":
    main()
