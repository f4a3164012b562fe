"""From the bytes of a file to the text that is kept of it; every kind is read within limits on size, work and time."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from limen.brain.ingest.charsets import decode_text
from limen.brain.ingest.docx import read_docx
from limen.brain.ingest.epub import read_epub
from limen.brain.ingest.html import claimed_charset, read_html
from limen.brain.ingest.jsontext import read_json
from limen.brain.ingest.kinds import CONTENT_TYPES, As, Kind, kind_of_content
from limen.brain.ingest.limits import MAX_BYTES, Budget
from limen.brain.ingest.packed import PackedText
from limen.brain.ingest.pdf import read_pdf
from limen.brain.ingest.pptx import read_pptx
from limen.brain.ingest.xlsx import read_xlsx
from limen.brain.markdown import read_frontmatter, title_of
from limen.brain.records import Metadata
from limen.errors import FileTooLarge, Unreadable

__all__ = ["Reading", "is_conversation", "read"]

_MARKDOWN: Final = "text/markdown"
_PACKED: Final[dict[Kind, Callable[[bytes, Budget], PackedText]]] = {
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "epub": read_epub,
}


class Reading(Struct, frozen=True, kw_only=True):
    """What a file says."""

    text: str | None
    """What is to be kept; None when it is the bytes as they came."""
    title: str | None
    content_type: str
    """What the file is."""
    stored_type: str
    """What `text` is."""
    metadata: Metadata = {}


def read(
    content: bytes, name: str, *, as_: As | None = None, declared: str = "", budget: Budget | None = None
) -> Reading:
    """Read one file. `declared` is the content type its sender gives, with its charset.

    Raises:
        FileTooLarge: it is beyond what is taken in, as it is or unpacked.
        Unreadable: it is empty, binary, broken or of a kind that cannot be read.
    """
    if len(content) > MAX_BYTES:
        raise FileTooLarge(
            f"{name!r}: {len(content):,} bytes, and {MAX_BYTES:,} are the most; split it", limit=MAX_BYTES
        )
    budget = budget or Budget(name)
    kind = kind_of_content(content, name, as_=as_, declared=declared)
    match kind:
        case "markdown" | "text":
            return _text(content, name, declared, CONTENT_TYPES[kind], budget)
        case "json":
            return _json(content, name, declared, budget)
        case "html":
            return _html(content, name, declared, budget)
        case "pdf":
            pdf = read_pdf(content, budget)
            return _made(pdf.markdown, pdf.title, CONTENT_TYPES[kind], pages=pdf.pages, date=pdf.date)
        case "docx" | "pptx" | "xlsx" | "epub":
            packed = _PACKED[kind](content, budget)
            return _made(packed.markdown, packed.title, CONTENT_TYPES[kind], date=packed.date)


def is_conversation(content: bytes, name: str, *, declared: str = "") -> bool:
    """Whether this JSON is a list of messages, which is kept as markdown.

    Raises:
        Unreadable: it is no JSON.
    """
    return read_json(_decoded(content, name, _charset(declared), Budget(name)), name).is_conversation


def _text(content: bytes, name: str, declared: str, content_type: str, budget: Budget) -> Reading:
    text = _decoded(content, name, _charset(declared), budget)
    kept = text if text.encode() != content else None
    if content_type != _MARKDOWN:
        return Reading(text=kept, title=None, content_type=content_type, stored_type=content_type)
    head = read_frontmatter(text)
    metadata: Metadata = {"warning": head.warning[:200]} if head.warning else {}
    title = title_of(head, text)
    return Reading(text=kept, title=title, content_type=content_type, stored_type=content_type, metadata=metadata)


def _json(content: bytes, name: str, declared: str, budget: Budget) -> Reading:
    found = read_json(_decoded(content, name, _charset(declared), budget), name)
    budget.spend_chars(len(found.text))
    # An escaped half of a character is JSON, but no text that can be written down.
    text = found.text.encode("utf-8", "replace").decode()
    kind = CONTENT_TYPES["json"]
    stored = _MARKDOWN if found.is_conversation else kind
    metadata: Metadata = {"date": found.date} if found.date else {}
    return Reading(text=text, title=found.title, content_type=kind, stored_type=stored, metadata=metadata)


def _html(content: bytes, name: str, declared: str, budget: Budget) -> Reading:
    page = read_html(_decoded(content, name, _charset(declared) or claimed_charset(content), budget))
    if not page.markdown.strip():
        raise Unreadable(f"{name!r}: this page shows no text without running its scripts; save what you see as a file")
    return _made(page.markdown, page.title, CONTENT_TYPES["html"], date=page.date, description=page.description or None)


def _made(markdown: str, title: str | None, content_type: str, **facts: str | int | None) -> Reading:
    metadata = {name: fact for name, fact in facts.items() if fact is not None}
    clean = markdown.replace("\0", "").encode("utf-8", "replace").decode()
    return Reading(text=clean, title=title, content_type=content_type, stored_type=_MARKDOWN, metadata=metadata)


def _decoded(content: bytes, name: str, charset: str, budget: Budget) -> str:
    text = decode_text(content, claimed=charset, field=repr(PurePosixPath(name).name[-120:]))
    budget.spend_chars(len(text))
    if not text.strip():
        raise Unreadable(f"{name!r}: there is nothing but white space in it", field="path")
    return text


def _charset(declared: str) -> str:
    for part in declared.split(";")[1:]:
        key, _, value = part.partition("=")
        if key.strip().lower() == "charset":
            return value.strip().strip("\"'")
    return ""
