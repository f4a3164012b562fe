"""From an electronic book to markdown: its chapters in reading order; refuses books that are locked."""

import zipfile
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from limen.brain.days import find_date
from limen.brain.ingest.charsets import decode_text
from limen.brain.ingest.html import claimed_charset, read_html
from limen.brain.ingest.limits import Budget
from limen.brain.ingest.packed import Attributes, Fields, PackedText, local_name, open_packed, parse_entry, read_entry
from limen.errors import Unreadable

__all__ = ["read_epub"]

_CONTAINER: Final = "META-INF/container.xml"
_LOCK: Final = "META-INF/rights.xml"
_CHAPTERS: Final = frozenset({"application/xhtml+xml", "text/html"})


def read_epub(content: bytes, budget: Budget) -> PackedText:
    """The text of a book.

    Raises:
        Unreadable: it is broken, locked, or holds no text.
        FileTooLarge: it unpacks to more than an honest book holds.
    """
    with open_packed(content, "EPUB", budget) as packed:
        return _read(packed, budget)


def _read(packed: zipfile.ZipFile, budget: Budget) -> PackedText:
    if _LOCK in packed.namelist():
        raise Unreadable(f"{budget.name!r}: this book is locked to a shop's reader; only free files can be read")
    container = _Container()
    parse_entry(packed, _CONTAINER, container, budget)
    book = _Book()
    parse_entry(packed, container.book, book, budget)
    chapters = _chapters(packed, PurePosixPath(container.book).parent, book)
    budget.check_parts(len(chapters), "chapters")
    parts: list[str] = []
    for number, name in enumerate(chapters, 1):
        page = read_entry(packed, name, budget)
        text = read_html(decode_text(page, claimed=claimed_charset(page), field=repr(name[-120:]))).markdown.strip()
        budget.spend_chars(len(text))
        budget.tell(number, len(chapters))
        parts += [text] if text else []
    if not parts:
        raise Unreadable(f"{budget.name!r}: this book holds no text, perhaps only pictures of it")
    day = find_date(book.fields.get("date"))
    return PackedText(
        markdown="\n\n".join(parts) + "\n",
        title=book.fields.get("title") or None,
        date=day.isoformat() if day else None,
    )


def _chapters(packed: zipfile.ZipFile, folder: PurePosixPath, book: "_Book") -> list[str]:
    names = set(packed.namelist())
    wanted = ((folder / unquote(book.pages[item])).as_posix() for item in book.order if item in book.pages)
    # A chapter may be listed again and again; it is read once.
    return [name for name in dict.fromkeys(wanted) if name in names]


class _Container:
    """Where the book's own list lies."""

    def __init__(self) -> None:
        self.book = ""

    def start(self, tag: str, attributes: Attributes) -> None:
        if local_name(tag) == "rootfile":
            self.book = self.book or attributes.get("full-path", "")

    def end(self, tag: str) -> None:
        """Nothing ends."""

    def text(self, text: str) -> None:
        """Nothing is said."""


class _Book:
    """The book's list of its files, their order, its title and day."""

    def __init__(self) -> None:
        self.fields = Fields("title", "date")
        self.pages: dict[str, str] = {}
        self.order: list[str] = []

    def start(self, tag: str, attributes: Attributes) -> None:
        self.fields.start(tag, attributes)
        match local_name(tag):
            case "item" if attributes.get("media-type") in _CHAPTERS and attributes.get("properties") != "nav":
                self.pages[attributes.get("id", "")] = attributes.get("href", "")
            case "itemref":
                self.order.append(attributes.get("idref", ""))
            case _:
                pass

    def end(self, tag: str) -> None:
        self.fields.end(tag)

    def text(self, text: str) -> None:
        self.fields.text(text)
