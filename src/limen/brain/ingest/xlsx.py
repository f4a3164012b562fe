"""From a spreadsheet to markdown tables, read in a child process; needs the extra `office`."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from limen.brain.days import find_date
from limen.brain.ingest.apart import read_apart
from limen.brain.ingest.limits import Budget
from limen.brain.ingest.packed import PackedText, open_packed, spend_entries
from limen.brain.ingest.rendering import join_blocks, table_lines
from limen.errors import Unreadable
from limen.shapes import is_array

__all__ = ["read_xlsx"]

_CHILD: Final = "limen.brain.ingest.xlsxchild"


def read_xlsx(content: bytes, budget: Budget) -> PackedText:
    """Every sheet of a workbook as a table under its name; formulas as the values they had when it was saved.

    Raises:
        Unreadable: it is broken, protected or empty, or the extra is not installed.
        FileTooLarge: it unpacks to more than an honest document holds.
    """
    if find_spec("openpyxl") is None:
        raise Unreadable(
            f"{budget.name!r}: spreadsheets need an extra: pip install 'limen[office]'; or save the sheet as CSV"
        )
    with open_packed(content, "XLSX", budget) as packed:
        spend_entries(packed, packed.namelist(), budget)
    sheets = _Sheets(budget)
    read_apart(_CHILD, content, budget, sheets.take)
    return sheets.finish()


class _Sheets:
    """What the child tells, as it comes."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._count = 0
        self._tables: list[tuple[str, list[list[str]]]] = []
        self._title = ""
        self._created = ""

    def take(self, message: Mapping[str, Any]) -> None:
        budget = self._budget
        match message:
            case {"sheets": int(count), "title": str(title), "created": str(created)}:
                budget.check_parts(count, "sheets")
                self._count, self._title, self._created = count, " ".join(title.split()), created
            case {"sheet": str(name)}:
                budget.tell(len(self._tables), self._count)
                self._tables.append((" ".join(name.split()), []))
            case {"rows": rows} if self._tables and is_array(rows):
                budget.spend_chars(sum(len(cell) + 3 for row in rows for cell in row))
                self._tables[-1][1].extend(rows)
            case {"fault": str()}:
                raise Unreadable(f"{budget.name!r}: this XLSX is damaged or none at all; open it and save it anew")
            case _:
                raise Unreadable(f"{budget.name!r}: the reader of this XLSX tells nothing that makes sense")

    def finish(self) -> PackedText:
        blocks: list[str] = []
        for name, rows in self._tables:
            if lines := table_lines(rows):
                blocks += [f"## {name}", "\n".join(lines)]
        if not blocks:
            raise Unreadable(f"{self._budget.name!r}: there is nothing in the cells of this XLSX")
        day = find_date(self._created)
        return PackedText(
            markdown=join_blocks(blocks), title=self._title or None, date=day.isoformat() if day else None
        )
