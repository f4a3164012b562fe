"""From a Word document to markdown: headings, lists, tables and words; refuses bombs and entities."""

import re
import zipfile
from collections.abc import Mapping
from typing import Final

from limen.brain.ingest.limits import Budget
from limen.brain.ingest.packed import Attributes, PackedText, local_name, open_packed, parse_entry, read_properties
from limen.brain.ingest.rendering import join_blocks, literal, table_lines
from limen.errors import Unreadable

__all__ = ["read_docx"]

_HEADING_STYLE: Final = re.compile(r"heading (\d)")
_WORD: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_STRICT_WORD: Final = "http://purl.oclc.org/ooxml/wordprocessingml/main "


def read_docx(content: bytes, budget: Budget) -> PackedText:
    """The text of a Word document.

    Raises:
        Unreadable: it is broken, protected, or no Word document.
        FileTooLarge: it unpacks to more than an honest document holds.
    """
    with open_packed(content, "DOCX", budget) as packed:
        return _read(packed, budget)


def _read(packed: zipfile.ZipFile, budget: Budget) -> PackedText:
    names = set(packed.namelist())
    styles = _Styles()
    if "word/styles.xml" in names:
        parse_entry(packed, "word/styles.xml", styles, budget)
    about = read_properties(packed, budget)
    body = _Body(styles.levels)
    parse_entry(packed, "word/document.xml", body, budget)
    text = join_blocks(body.blocks)
    budget.spend_chars(len(text))
    if not text.strip():
        raise Unreadable(f"{budget.name!r}: this DOCX holds no text")
    return PackedText(markdown=text, title=about.title or body.title or None, date=about.date)


def _local(tag: str) -> str:
    """The name without its namespace: `w:p` of Word's two namespaces, and nothing of drawings that are called alike."""
    for namespace in (_WORD, _STRICT_WORD):
        if tag.startswith(namespace):
            return "w:" + tag[len(namespace) :]
    return local_name(tag)


def _value(attributes: Attributes, name: str = "val") -> str:
    return attributes.get(_WORD + name) or attributes.get(_STRICT_WORD + name) or ""


class _Styles:
    """Which styles are headings, whatever language they are named in."""

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self._style = ""

    def start(self, tag: str, attributes: Attributes) -> None:
        tag = _local(tag)
        if tag == "w:style":
            self._style = _value(attributes, "styleId")
        elif tag == "w:name" and self._style:
            name = _value(attributes).lower()
            if name == "title":
                self.levels[self._style] = 1
            elif found := _HEADING_STYLE.fullmatch(name):
                self.levels[self._style] = min(int(found[1]), 6) or 1
        elif tag == "w:outlineLvl" and self._style and (level := _value(attributes)).isdecimal() and int(level) < 6:
            self.levels.setdefault(self._style, int(level) + 1)

    def end(self, tag: str) -> None:
        if _local(tag) == "w:style":
            self._style = ""

    def text(self, text: str) -> None:
        """Styles say nothing."""


class _Body:
    """Follows the paragraphs and tables of the document itself."""

    def __init__(self, levels: Mapping[str, int]) -> None:
        self.title = ""
        self._levels = levels
        self.blocks: list[str] = []
        """Finished paragraphs, items and tables, as markdown."""
        self._words: list[str] = []
        self._level = 0
        self._item: int | None = None
        self._is_text = False
        self._tables: list[list[list[str]]] = []

    def start(self, tag: str, attributes: Attributes) -> None:
        tag = _local(tag)
        match tag:
            case "w:p":
                self._words, self._level, self._item = self._words if self._tables else [], 0, None
            case "w:pStyle":
                style = _value(attributes)
                self._level = self._levels.get(style) or _plain_level(style)
            case "w:ilvl":
                self._item = _small(_value(attributes))
            case "w:numId" if _value(attributes) != "0":
                self._item = self._item or 0
            case "w:t":
                self._is_text = True
            case "w:tab":
                self._words.append("\t")
            case "w:br" | "w:cr":
                self._words.append("\n")
            case _:
                self._start_table(tag)

    def _start_table(self, tag: str) -> None:
        if tag == "w:tbl":
            self._tables.append([])
        elif tag == "w:tr" and self._tables:
            self._tables[-1].append([])
        elif tag == "w:tc" and self._tables:
            self._words = []

    def end(self, tag: str) -> None:
        match _local(tag):
            case "w:t":
                self._is_text = False
            case "w:p":
                self._end_paragraph()
            case "w:tc" if self._tables and self._tables[-1]:
                self._tables[-1][-1].append("".join(self._words))
                self._words = []
            case "w:tbl" if self._tables:
                self._end_table()
            case _:
                pass

    def text(self, text: str) -> None:
        if self._is_text:
            self._words.append(text)

    def _end_paragraph(self) -> None:
        if self._tables:
            self._words.append("\n")
            return
        text = "".join(self._words).strip()
        self._words = []
        if not text:
            return
        if self._level:
            line = " ".join(text.split())
            self.title = self.title or line
            self.blocks.append("#" * self._level + " " + line)
        elif self._item is not None:
            self.blocks.append("  " * min(self._item, 8) + "- " + " ".join(text.split()))
        else:
            self.blocks.append("\n".join(literal(line) for line in text.split("\n")))

    def _end_table(self) -> None:
        rows = self._tables.pop()
        if self._tables:
            self._words.append(" ".join(" ".join(row) for row in rows))
        elif lines := table_lines(rows):
            self.blocks.append("\n".join(lines))


def _plain_level(style: str) -> int:
    """Documents without a list of styles still call them so."""
    found = re.fullmatch(r"Heading([1-6])", style)
    return int(found[1]) if found else int(style == "Title")


def _small(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 3 else 0
