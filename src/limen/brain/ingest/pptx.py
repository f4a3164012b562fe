"""From slides to markdown: a heading for each slide, its lines and tables, and the speaker's notes."""

import re
import zipfile
from collections.abc import Mapping
from typing import Final

from limen.brain.ingest.limits import Budget
from limen.brain.ingest.packed import Attributes, PackedText, local_name, open_packed, parse_entry, read_properties
from limen.brain.ingest.rendering import join_blocks, literal, table_lines
from limen.errors import Unreadable

__all__ = ["read_pptx"]

_SLIDE: Final = re.compile(r"ppt/slides/slide(\d{1,6})\.xml")
_TITLES: Final = frozenset({"title", "ctrTitle"})
_SIDES: Final = frozenset({"dt", "ftr", "sldNum", "sldImg", "hdr"})
"""Placeholders that say the same on every slide."""


def read_pptx(content: bytes, budget: Budget) -> PackedText:
    """The text of a slide deck, in the order in which it is shown.

    Raises:
        Unreadable: it is broken, protected, or holds no text.
        FileTooLarge: it unpacks to more than an honest document holds.
    """
    with open_packed(content, "PPTX", budget) as packed:
        return _read(packed, budget)


def _read(packed: zipfile.ZipFile, budget: Budget) -> PackedText:
    slides = _slides(packed, budget)
    budget.check_parts(len(slides), "slides")
    blocks: list[str] = []
    first_title = ""
    for number, name in enumerate(slides, 1):
        slide = _Slide()
        parse_entry(packed, name, slide, budget)
        first_title = first_title or slide.title
        said = [*slide.blocks, *_notes(packed, name, budget)]
        if slide.title or said:
            blocks += [f"## Slide {number}" + (f": {slide.title}" if slide.title else ""), *said]
        budget.tell(number, len(slides))
    text = join_blocks(blocks)
    budget.spend_chars(len(text))
    if not text.strip():
        raise Unreadable(f"{budget.name!r}: these slides hold no text, perhaps only pictures of it")
    about = read_properties(packed, budget)
    return PackedText(markdown=text, title=about.title or first_title or None, date=about.date)


def _slides(packed: zipfile.ZipFile, budget: Budget) -> list[str]:
    order = _Order()
    parse_entry(packed, "ppt/presentation.xml", order, budget)
    targets = _relations(packed, "ppt/presentation.xml", budget)
    names = set(packed.namelist())
    shown = [name for ident in order.slides if (name := targets.get(ident, "")) in names]
    if shown:
        return shown
    found = (match for name in names if (match := _SLIDE.fullmatch(name)))
    return [match[0] for match in sorted(found, key=lambda match: int(match[1]))]


def _notes(packed: zipfile.ZipFile, slide: str, budget: Budget) -> list[str]:
    for name in _relations(packed, slide, budget).values():
        if name.startswith("ppt/notesSlides/") and name in packed.namelist():
            notes = _Slide()
            parse_entry(packed, name, notes, budget)
            return ["Notes:", *notes.blocks] if notes.blocks else []
    return []


def _relations(packed: zipfile.ZipFile, name: str, budget: Budget) -> Mapping[str, str]:
    """The entries this one refers to, by their ids in it."""
    folder, _, base = name.rpartition("/")
    relations = _Relations(folder)
    listed = f"{folder}/_rels/{base}.rels"
    if listed in packed.namelist():
        parse_entry(packed, listed, relations, budget)
    return relations.targets


class _Relations:
    """Follows a list of relations."""

    def __init__(self, folder: str) -> None:
        self.targets: dict[str, str] = {}
        self._folder = folder

    def start(self, tag: str, attributes: Attributes) -> None:
        if local_name(tag) == "Relationship" and attributes.get("TargetMode") != "External":
            self.targets[attributes.get("Id", "")] = _joined(self._folder, attributes.get("Target", ""))

    def end(self, tag: str) -> None:
        """Nothing ends."""

    def text(self, text: str) -> None:
        """Nothing is said."""


def _joined(folder: str, target: str) -> str:
    if target.startswith("/"):
        return target[1:]
    parts = folder.split("/")
    for part in target.split("/"):
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return "/".join(parts)


class _Order:
    """The slides as the presentation lists them."""

    def __init__(self) -> None:
        self.slides: list[str] = []

    def start(self, tag: str, attributes: Attributes) -> None:
        if local_name(tag) == "sldId":
            self.slides += [value for name, value in attributes.items() if name.endswith("relationships id")]

    def end(self, tag: str) -> None:
        """Nothing ends."""

    def text(self, text: str) -> None:
        """Nothing is said."""


class _Slide:
    """Follows the shapes of a slide, or of its notes."""

    def __init__(self) -> None:
        self.title = ""
        self.blocks: list[str] = []
        self._kind: str | None = None
        """Of the placeholder the present shape fills; None when it fills none."""
        self._level = 0
        self._words: list[str] = []
        self._is_text = False
        self._rows: list[list[str]] | None = None

    def start(self, tag: str, attributes: Attributes) -> None:
        match local_name(tag):
            case "sp":
                self._kind = None
            case "ph":
                self._kind = attributes.get("type", "body")
            case "p":
                self._level = 0
            case "pPr":
                level = attributes.get("lvl", "0")
                self._level = int(level) if level.isdecimal() and len(level) < 2 else 0
            case "t":
                self._is_text = True
            case "br":
                self._words.append("\n")
            case "tbl":
                self._rows = []
            case "tr" if self._rows is not None:
                self._rows.append([])
            case _:
                pass

    def end(self, tag: str) -> None:
        match local_name(tag):
            case "t":
                self._is_text = False
            case "p" if self._rows is None:
                self._end_paragraph()
            case "p":
                self._words.append(" ")
            case "tc" if self._rows:
                self._rows[-1].append("".join(self._words))
                self._words = []
            case "tbl" if self._rows is not None:
                self.blocks += ["\n".join(lines)] if (lines := table_lines(self._rows)) else []
                self._rows = None
            case _:
                pass

    def text(self, text: str) -> None:
        if self._is_text:
            self._words.append(text)

    def _end_paragraph(self) -> None:
        text = "".join(self._words).strip()
        self._words = []
        if not text or self._kind in _SIDES:
            return
        line = " ".join(text.split())
        if self._kind in _TITLES:
            self.title = f"{self.title} {line}".strip()
        elif self._kind is not None:
            self.blocks.append("  " * self._level + "- " + line)
        else:
            self.blocks.append("\n".join(literal(part) for part in text.split("\n")))
