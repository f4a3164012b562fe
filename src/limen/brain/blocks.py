"""Markdown seen as blocks with exact places: headings, fences, tables, lists, text, rules. Renders nothing.

Every line is looked at once, so the time is linear in the text, whatever it holds.
"""

import re
from typing import Final, Literal

__all__ = ["Block", "BlockKind", "read_blocks"]

BlockKind = Literal["heading", "fence", "table", "list", "text", "rule"]

_ATX: Final = re.compile(r"(#{1,6})(?:[ \t]|$)")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_FENCE: Final = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_TABLE_RULE: Final = frozenset("|:- \t")


class Block:
    """One block: its characters from `start` to `end`, without white space around them."""

    __slots__ = ("end", "kind", "level", "lines", "start", "title")

    def __init__(self, kind: BlockKind, start: int, end: int) -> None:
        self.kind: BlockKind = kind
        self.start = start
        self.end = end
        self.lines = 1
        self.level = 0
        """Of a heading: 1 to 6."""
        self.title = ""
        """Of a heading: its words; of another block: its first line."""


def read_blocks(text: str, start: int = 0, end: int | None = None) -> list[Block]:
    """The blocks of a text between two places, in their order."""
    reader = _Reader()
    at, stop = start, len(text) if end is None else end
    while at < stop:
        newline = text.find("\n", at, stop)
        if newline < 0:
            newline = stop
        line = text[at:newline]
        reader.take(line, at)
        at = newline + 1
    return reader.found


class _Reader:
    """Takes lines, makes blocks."""

    def __init__(self) -> None:
        self.found: list[Block] = []
        self._last: Block | None = None
        """The block that the next line may belong to."""
        self._is_apart = False
        """Whether an empty line has come since."""
        self._fence = ""

    def take(self, line: str, at: int) -> None:
        content = line.strip()
        if self._fence:
            self._go_on_in_fence(line, content, at)
        elif not content:
            self._is_apart = True
        else:
            first = at + len(line) - len(line.lstrip())
            self._place(content, first, first + len(content), indent=first - at)

    def _go_on_in_fence(self, line: str, content: str, at: int) -> None:
        assert self._last is not None
        if not content:
            return
        self._last.end = at + len(line.rstrip())
        self._last.lines += 1
        if content.startswith(self._fence) and not content.strip(self._fence[0]):
            self._fence = ""
            self._last = None

    def _place(self, content: str, first: int, end: int, *, indent: int) -> None:
        kind = _kind_of(content, indent)
        last = None if self._is_apart else self._last
        if kind == "rule" or content[0] == "=":
            if self._underline(content, last):
                return
            kind = kind if kind == "rule" else "text"
        elif last is not None and last.kind == "text" and last.lines == 1 and _is_table_rule(content):
            last.kind = kind = "table"
        if self._belongs(kind, content, indent):
            assert self._last is not None
            self._last.end = end
            self._last.lines += 1
        else:
            self._open(kind, content, first, end)
        self._is_apart = False

    def _open(self, kind: BlockKind, content: str, first: int, end: int) -> None:
        block = Block(kind, first, end)
        block.title = content
        self.found.append(block)
        self._last = block if kind not in ("heading", "rule") else None
        if kind == "heading":
            block.level = len(content) - len(content.lstrip("#"))
            block.title = content[block.level :].strip().rstrip("#").strip()
        elif kind == "fence" and (mark := _FENCE.match(content)):
            self._fence = mark[0]

    def _belongs(self, kind: BlockKind, content: str, indent: int) -> bool:
        last = self._last
        if last is None or kind in ("heading", "fence", "rule"):
            return False
        if self._is_apart:
            # The items of a list may stand apart, and so may what is indented beneath one.
            return last.kind == "list" and (kind == "list" or indent >= 2)
        if last.kind == "text":
            return kind == "text"
        if last.kind == "table":
            return kind == "table" or (kind == "text" and "|" in content)
        return last.kind == "list" and kind in ("list", "text", "table")

    def _underline(self, content: str, last: Block | None) -> bool:
        """Make a heading of the one line of text above, when this line underlines it."""
        is_line = len(content) >= 2 and not content.strip(content[0]) and content[0] in "=-"
        if not is_line or last is None or last.kind != "text" or last.lines != 1:
            return False
        last.kind = "heading"
        last.level = 1 if content[0] == "=" else 2
        last.lines = 2
        self._last = None
        return True


def _kind_of(content: str, indent: int) -> BlockKind:
    mark = content[0]
    if mark == "#":
        return "heading" if indent <= 3 and _ATX.match(content) else "text"
    if mark in "`~":
        return "fence" if _FENCE.match(content) else "text"
    if mark == "|":
        return "table"
    if mark in "-*_+":
        if mark != "+" and len(content) >= 2 and not content.strip(f"{mark} \t") and content.count(mark) >= 2:
            return "rule"
        return "list" if _ITEM.match(content) else "text"
    return "list" if mark.isdecimal() and _ITEM.match(content) else "text"


def _is_table_rule(content: str) -> bool:
    return "|" in content and "-" in content and _TABLE_RULE.issuperset(content)
