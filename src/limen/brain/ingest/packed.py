"""Documents that are packed XML (Word, slides, books): opened and parsed within limits; refuses bombs and entities."""

import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Final, Protocol
from xml.parsers import expat

from msgspec import Struct

from limen.brain.days import find_date
from limen.brain.ingest.limits import Budget
from limen.errors import FileTooLarge, Unreadable

__all__ = [
    "Attributes",
    "Fields",
    "PackedText",
    "local_name",
    "open_packed",
    "parse_entry",
    "read_entry",
    "read_properties",
    "spend_entries",
]

_BLOCK: Final = 65_536
_MOST_RATIO: Final = 200
"""How many times smaller than its content an honest entry may be packed."""
_FREE_BYTES: Final = 1024 * 1024
"""Below this, no ratio is suspicious."""
_MOST_DEPTH: Final = 500
Attributes = Mapping[str, str]


class PackedText(Struct, frozen=True, kw_only=True):
    """What a document says."""

    markdown: str
    title: str | None
    date: str | None
    """`YYYY-MM-DD`, when it tells."""


class Properties(Struct, frozen=True, kw_only=True):
    """What an Office document says about itself."""

    title: str
    date: str | None


class Handler(Protocol):
    """What is told of the elements of one XML file; names come as `namespace name`."""

    def start(self, tag: str, attributes: Attributes) -> None: ...

    def end(self, tag: str) -> None: ...

    def text(self, text: str) -> None: ...


class _Entities(Exception):
    """The XML declares a document type, which none of these files does."""


@contextmanager
def open_packed(content: bytes, what: str, budget: Budget) -> Generator[zipfile.ZipFile]:
    """The entries of a packed document; what goes wrong with them inside the block is told as ours.

    Raises:
        Unreadable: it is broken or protected.
        FileTooLarge: it packs more entries than a document has.
    """
    # Counted before the list is read: each of its lines would take a hundred times its size in memory.
    if content.count(b"PK\x01\x02") > budget.most_entries:
        raise FileTooLarge(f"{budget.name!r}: it packs more than {budget.most_entries:,} files, as no document does")
    try:
        with zipfile.ZipFile(BytesIO(content)) as packed:
            yield packed
    except (
        zipfile.BadZipFile,
        zlib.error,
        expat.ExpatError,
        _Entities,
        KeyError,
        NotImplementedError,
        OSError,
    ) as error:
        raise Unreadable(f"{budget.name!r}: this {what} is damaged or none at all; open it and save it anew") from error
    except (RuntimeError, EOFError) as error:
        # zipfile has no better name for an entry that wants a password.
        raise Unreadable(
            f"{budget.name!r}: this {what} is protected or cut off; save it anew, without a password"
        ) from error


def read_properties(packed: zipfile.ZipFile, budget: Budget) -> Properties:
    """Title and day of creation of an Office document."""
    fields = Fields("title", "created")
    if "docProps/core.xml" in packed.namelist():
        parse_entry(packed, "docProps/core.xml", fields, budget)
    day = find_date(fields.get("created"))
    return Properties(title=fields.get("title"), date=day.isoformat() if day else None)


def read_entry(packed: zipfile.ZipFile, name: str, budget: Budget) -> bytes:
    """A whole entry, within the limits."""
    return b"".join(_blocks(packed, name, budget))


def spend_entries(packed: zipfile.ZipFile, names: Iterable[str], budget: Budget) -> None:
    """Unpack these entries for nothing but to learn whether they are bombs."""
    for name in names:
        for _ in _blocks(packed, name, budget):
            pass


def parse_entry(packed: zipfile.ZipFile, name: str, handler: Handler, budget: Budget) -> None:
    """Read one entry as XML, block by block, so that a bomb is noticed while it goes off."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def opened(tag: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > _MOST_DEPTH:
            raise _Entities
        handler.start(tag, attributes)

    def closed(tag: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(tag)

    def refuse(*_declared: object) -> None:
        raise _Entities

    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    for block in _blocks(packed, name, budget):
        parser.Parse(block)
    parser.Parse(b"", True)  # noqa: FBT003 - expat takes no names


def local_name(tag: str) -> str:
    """A name without its namespace."""
    return tag.rpartition(" ")[2]


class Fields:
    """A handler that keeps the text of some elements, each the first time it comes."""

    def __init__(self, *names: str) -> None:
        self._found: dict[str, str] = {}
        self._names = set(names)
        self._name = ""

    def get(self, name: str) -> str:
        """The text of the element, in one line; empty when there was none."""
        return " ".join(self._found.get(name, "").split())

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins."""
        del attributes
        name = local_name(tag)
        self._name = name if name in self._names and name not in self._found else ""

    def end(self, tag: str) -> None:
        """An element ends."""
        del tag
        self._name = ""

    def text(self, text: str) -> None:
        """Some of its text."""
        if self._name:
            self._found[self._name] = (self._found.get(self._name, "") + text)[:1000]


def _blocks(packed: zipfile.ZipFile, name: str, budget: Budget) -> Iterator[bytes]:
    info = packed.getinfo(name)
    with packed.open(info) as entry:
        unpacked = 0
        while block := entry.read(_BLOCK):
            unpacked += len(block)
            if unpacked > _FREE_BYTES and unpacked > _MOST_RATIO * max(info.compress_size, 1):
                raise FileTooLarge(
                    f"{budget.name!r}: it unpacks to more than {_MOST_RATIO} times its size, as bombs do"
                )
            budget.spend_unpacked(len(block))
            yield block
