"""Markdown put together from what readers found: blocks and tables."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["join_blocks", "literal", "table_lines"]

_MOST_COLUMNS: Final = 100
_ITEM: Final = re.compile(r"\s{0,20}(?:-|\d{1,9}\.) ")


def join_blocks(blocks: Iterable[str]) -> str:
    """The blocks as one text, an empty line between them, but none between the items of a list."""
    parts: list[str] = []
    was_item = False
    for block in blocks:
        is_item = _ITEM.match(block) is not None
        if parts:
            parts.append("\n" if is_item and was_item else "\n\n")
        parts.append(block)
        was_item = is_item
    return "".join(parts) + "\n" if parts else ""


def literal(line: str) -> str:
    """A line of running text that would read as a heading, fence or rule keeps its words and loses that meaning."""
    return f"\\{line}" if line.startswith(("#", "```", "~~~", "---")) else line


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of the table, the first row as its head; a table of one column is lines of text."""
    filled = [row[:_MOST_COLUMNS] for row in rows if any(cell.strip() for cell in row)]
    if not filled:
        return []
    width = max(len(row) for row in filled)
    if width == 1:
        return [_cell(row[0]) for row in filled]
    lines = [_line([*row, *[""] * (width - len(row))]) for row in filled]
    return [lines[0], _line(["---"] * width), *lines[1:]]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
