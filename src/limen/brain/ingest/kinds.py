"""What kind of file something is: by its content first, then by its name, then by what its sender says."""

import re
from pathlib import PurePosixPath
from typing import Final, Literal

from limen.brain.ingest.charsets import is_binary
from limen.errors import Unreadable

__all__ = ["CONTENT_TYPES", "As", "Kind", "kind_of_content"]

Kind = Literal["markdown", "text", "json", "html", "pdf", "docx", "pptx", "xlsx", "epub"]
As = Literal["markdown", "text", "pdf", "json"]

CONTENT_TYPES: Final[dict[Kind, str]] = {
    "markdown": "text/markdown",
    "text": "text/plain",
    "json": "application/json",
    "html": "text/html",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "epub": "application/epub+zip",
}
SUPPORTED: Final = "markdown, text, JSON, HTML, PDF, DOCX, PPTX, XLSX and EPUB files can be read"

_EXTENSIONS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("md", "markdown", "mdown", "mkd", "mdx"), "markdown"),
    **dict.fromkeys(("txt", "text", "log", "csv", "tsv", "rst", "org", "adoc", "vtt", "srt"), "text"),
    **dict.fromkeys(("json", "jsonl", "ndjson"), "json"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    "pdf": "pdf",
    "docx": "docx",
    "pptx": "pptx",
    "xlsx": "xlsx",
    "epub": "epub",
}
_DECLARED: Final[dict[str, Kind]] = {
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "json",
    "application/x-ndjson": "json",
}
_PAGE: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<!--[^>]{0,500}-->\s{0,200}){0,5}<(?:!doctype\s+html|html|head|body)\b", re.I
)
_PACKED: Final[dict[bytes, Kind]] = {
    b"word/document.xml": "docx",
    b"ppt/presentation.xml": "pptx",
    b"xl/workbook.xml": "xlsx",
    b"META-INF/container.xml": "epub",
}
"""The entry that only this kind of packed file has."""
_STRANGERS: Final = (
    (b"\xd0\xcf\x11\xe0", "an old Office file or a protected one; save it as DOCX without a password"),
    (b"{\\rtf", "an RTF file; save it as DOCX"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"\x1f\x8b", "a compressed file; unpack it first"),
    (b"7z\xbc\xaf", "an archive; unpack it first"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "a database"),
)


def kind_of_content(content: bytes, name: str, *, as_: As | None = None, declared: str = "") -> Kind:
    """How to read these bytes. `as_` decides, unless the content is plainly something else.

    Raises:
        Unreadable: they are of no kind that can be read, or not of the kind that `as_` names.
    """
    if not content:
        raise Unreadable(f"{_shown(name)}: the file is empty", field="path")
    seen = _magic(content, name)
    if as_ is not None:
        return _overridden(as_, seen, name)
    if seen is not None:
        return seen
    extension = PurePosixPath(name).suffix.lower().removeprefix(".")
    told = _DECLARED.get(declared.partition(";")[0].strip().lower())
    named = _EXTENSIONS.get(extension)
    if told in (None, "html") and named in ("markdown", "text", "json", "html"):
        # A page that answers under a file's name says itself what it is.
        return "html" if named != "markdown" and _PAGE.match(content) else named
    if told is not None:
        return told
    return _guess(content, name)


def _magic(content: bytes, name: str) -> Kind | None:
    if b"%PDF-" in content[:1024]:
        return "pdf"
    if content.startswith(b"PK\x03\x04"):
        # Files are packed into files; the list of the outermost one is the last.
        last = max(_PACKED, key=content.rfind)
        if last in content:
            return _PACKED[last]
        raise Unreadable(f"{_shown(name)}: an archive that holds no document; {SUPPORTED}", field="path")
    for mark, what in _STRANGERS:
        if content.startswith(mark):
            raise Unreadable(f"{_shown(name)}: this is {what}; {SUPPORTED}", field="path")
    return None


def _overridden(as_: As, seen: Kind | None, name: str) -> Kind:
    if (seen or as_) != as_ and not (seen is None and as_ != "pdf"):
        raise Unreadable(
            f"as: {_shown(name)} is a {(seen or 'text').upper()} file, not {as_}; leave `as` out", field="as"
        )
    if as_ == "pdf" and seen is None:
        raise Unreadable(f"as: {_shown(name)} is not a PDF file; leave `as` out", field="as")
    return as_


def _guess(content: bytes, name: str) -> Kind:
    if _PAGE.match(content):
        return "html"
    if content.lstrip()[:1] in (b"{", b"[") and content.rstrip()[-1:] in (b"}", b"]"):
        return "json"
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not is_wide and is_binary(content):
        raise Unreadable(
            f"{_shown(name)}: binary data of an unknown kind; {SUPPORTED}, other kinds once they are converted to one",
            field="path",
        )
    return "text"


def _shown(name: str) -> str:
    return repr(name[-200:])
