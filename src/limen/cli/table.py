"""Tables for a terminal. Every cell is made printable; markup in it is text like any other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Literal

from limen.cli.output import Tone
from limen.cli.printable import printable

__all__ = ["Column", "Table"]

WIDE = 110
"""From so many columns on, a terminal shows the extra ones of a table."""

_GAP = 2
_LEAST = 10
_STYLES: Mapping[Tone, str] = {"ok": "green", "warn": "yellow", "fail": "bold red", "quiet": "dim", "strong": "bold"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: what of each row it shows, and how."""

    title: str
    key: str
    align: Literal["left", "right"] = "left"
    width: int | None = None
    """Exactly so wide; without it, as wide as its content, or what is left."""
    wraps: bool = False
    """Goes on in the next line when it is too long, instead of being cut."""
    fills: bool = False
    """Takes the width that the others leave, so that tables printed one after the other line up."""
    is_extra: bool = False
    """Left out when the terminal is narrow."""
    tones: Mapping[str, Tone] = field(default_factory=dict[str, Tone])
    """The tone of a cell, by its text."""
    tone: Tone | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to be shown under each other; what a row lacks is left empty."""

    columns: Sequence[Column]
    rows: Iterable[Mapping[str, Any]]
    has_header: bool = True

    def draw(self, width: int, *, is_colored: bool) -> str:
        """The table as text."""
        # Rich takes 60 ms to import, so only whoever looks at a table pays for it.
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = [column for column in self.columns if width >= WIDE or not column.is_extra]
        table = RichTable(
            box=None,
            header_style="bold",
            pad_edge=False,
            padding=(0, _GAP, 0, 0),
            show_header=self.has_header,
        )
        for column in shown:
            table.add_column(
                column.title,
                justify=column.align,
                width=_left_over(shown, width) if column.fills else column.width,
                no_wrap=not column.wraps,
                overflow="fold" if column.wraps else "ellipsis",
            )
        for row in self.rows:
            table.add_row(*[Text(*_cell(column, row)) for column in shown])
        console = Console(
            file=StringIO(),
            width=width,
            force_terminal=is_colored,
            color_system="standard" if is_colored else None,
            legacy_windows=False,
        )
        with console.capture() as captured:
            console.print(table)
        return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def _left_over(columns: Sequence[Column], width: int) -> int:
    """What the columns of fixed width leave of a line."""
    taken = sum((column.width or 0) + _GAP for column in columns if not column.fills)
    return max(_LEAST, width - taken)


def _cell(column: Column, row: Mapping[str, Any]) -> tuple[str, str]:
    value = row.get(column.key)
    text = "" if value is None else printable(str(value))
    tone = column.tones.get(text) or column.tone
    return text, _STYLES[tone] if tone else ""
