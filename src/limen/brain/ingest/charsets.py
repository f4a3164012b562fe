"""From bytes to text: which encoding they are in, whatever was claimed; refuses bytes that are no text at all."""

import codecs
import re
from typing import Final

from limen.errors import Unreadable

__all__ = ["decode_text", "is_binary"]

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""In this order: the mark of UTF-32 begins with that of UTF-16."""
# Names a sender may claim. Python knows more, among them some that unpack, escape or hide.
_CLAIMABLE: Final = re.compile(
    r"utf-?8|utf-?(?:16|32)(?:[-_]?[lb]e)?|us-ascii|ascii|iso-?8859-\d{1,2}|latin-?1|(?:windows-|cp)12[57]\d|koi8-[ru]"
    r"|shift[-_]?jis|sjis|euc-(?:jp|kr)|iso-2022-(?:jp|kr)|gb(?:2312|k|18030)|big5(?:-hkscs)?|macintosh|tis-620",
    re.IGNORECASE,
)
_SHIFTING: Final = ("iso-2022", "hz")
"""Encodings that write everything in ASCII bytes, so that the bytes say nothing."""
_CONTROLS: Final = bytes(sorted(set(range(32)) - set(b"\t\n\r\f\x1b")))
_SAMPLE: Final = 65_536
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def decode_text(content: bytes, *, claimed: str = "", field: str = "file") -> str:
    """The text of these bytes, without a byte order mark.

    A mark counts before what the bytes look like, that before a claim, and Windows' Latin is the last resort.

    Raises:
        Unreadable: they are no text.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _clean(content[len(mark) :].decode(encoding, "replace"))
    if wide := _unmarked_wide(content):
        return _clean(content.decode(wide, "replace"))
    if is_binary(content):
        raise Unreadable(f"{field}: holds binary data, not text; give a text file, or its right name", field=field)
    return _clean(_narrow(content, claimed.strip().strip("\"'").lower()))


def is_binary(content: bytes) -> bool:
    """Whether these bytes, read one by one, cannot be text."""
    sample = content[:_SAMPLE]
    if b"\0" in content:
        return True
    return len(sample) - len(sample.translate(None, _CONTROLS)) > len(sample) // 20


def _narrow(content: bytes, claimed: str) -> str:
    if claimed.startswith(_SHIFTING) and _CLAIMABLE.fullmatch(claimed):
        return content.decode(claimed, "replace")
    for encoding in ("utf-8", claimed if _CLAIMABLE.fullmatch(claimed) else "", "cp1252"):
        try:
            if encoding:
                return content.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("latin-1")


def _unmarked_wide(content: bytes) -> str | None:
    """UTF-16 without a mark: of mostly Western text every other byte is zero."""
    sample = content[:2000]
    if len(content) % 2 or len(sample) < 8:
        return None
    half = len(sample) // 2
    if sample[1::2].count(0) > half * 0.7 and sample[::2].count(0) == 0:
        return "utf-16-le"
    if sample[::2].count(0) > half * 0.7 and sample[1::2].count(0) == 0:
        return "utf-16-be"
    return None


def _clean(text: str) -> str:
    return _SURROGATES.sub("\ufffd", text)
