"""Reads one uploaded file out of a multipart/form-data body (RFC 7578); refuses what is more than that."""

import re
from dataclasses import dataclass
from email.message import Message
from typing import Final

from limen.errors import InvalidArguments

__all__ = ["Form", "read_form"]

PARTS: Final = 8
HEADER_BYTES: Final = 4096
_BOUNDARY: Final = re.compile(r'(?:^|;)\s*boundary=(?:"(?P<quoted>[^"\r\n]{1,70})"|(?P<plain>[^\s;"]{1,70}))', re.I)


@dataclass(frozen=True, slots=True)
class Form:
    """The file, what it is called, and the plain fields beside it."""

    content: bytes
    name: str
    fields: dict[str, str]


def read_form(content: bytes, parameters: str) -> Form:
    """The one file of a form.

    Raises:
        InvalidArguments: it is no such form, or has no file, or more than one.
    """
    found = _BOUNDARY.search(parameters)
    if found is None:
        raise InvalidArguments("Content-Type: multipart/form-data needs a boundary", field="Content-Type")
    boundary = b"--" + (found["quoted"] or found["plain"]).encode("latin-1")
    files: list[tuple[str, bytes]] = []
    fields: dict[str, str] = {}
    for part in _parts(content, boundary):
        field, name, value = _part(part)
        if name is not None:
            files.append((name, value))
        elif field in fields:
            raise InvalidArguments(f"{field}: given twice in the form", field=field)
        else:
            fields[field] = _text(field, value)
    if len(files) != 1:
        raise InvalidArguments(f"file: send one file, not {len(files)}", field="file")
    return Form(files[0][1], files[0][0], fields)


def _parts(content: bytes, boundary: bytes) -> list[bytes]:
    # With a line end in front, the first boundary looks like every other.
    pieces = (b"\r\n" + content).split(b"\r\n" + boundary, PARTS + 2)
    if len(pieces) < 3 or len(pieces) > PARTS + 2 or not pieces[-1].startswith(b"--"):
        raise InvalidArguments(f"body: this is no whole form of 1 to {PARTS} parts", field="body")
    return [piece.lstrip(b" \t").removeprefix(b"\r\n") for piece in pieces[1:-1]]


def _part(part: bytes) -> tuple[str, str | None, bytes]:
    head, gap, value = part.partition(b"\r\n\r\n")
    if not gap or len(head) > HEADER_BYTES:
        raise InvalidArguments("body: a part of the form has no header of its own", field="body")
    message = Message()
    for line in _text("body", head).split("\r\n"):
        name, _, text = line.partition(":")
        message[name.strip()] = text.strip()
    field = message.get_param("name", header="content-disposition")
    if not isinstance(field, str):
        raise InvalidArguments("body: a part of the form has no name", field="body")
    return field, message.get_filename(), value


def _text(field: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InvalidArguments(f"{field}: this is not UTF-8", field=field) from None
