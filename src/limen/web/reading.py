"""Reads what a request brings: its query, its body within a limit, its preconditions; refuses what it cannot read."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from limen.errors import InvalidArguments, TooLarge, Unreadable
from limen.server.responses import Visit
from limen.web.routes import JSON, Body, Precondition, Upload

__all__ = ["Gone", "read_body", "read_key", "read_precondition", "read_query"]

QUERY_FIELDS: Final = 32
KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_ETAG: Final = re.compile(r'\s*(?P<weak>W/)?"(?P<tag>[\x21\x23-\x7e]*)"\s*(?:,|$)')
_AT: Final = re.compile(r"^(?P<what>.*) - at (?:`key` in |key in )?`\$\.?(?P<field>[^`]*)`$", re.DOTALL)


class Gone(Exception):
    """The client left before it had sent everything; nobody is there to be answered."""


def read_query(raw: bytes, shape: type[msgspec.Struct]) -> Any:
    """The query parameters as the route declares them.

    Raises:
        InvalidArguments: one is unknown, missing, repeated or of the wrong shape.
    """
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=QUERY_FIELDS, separator="&"
        )
    except ValueError:
        raise InvalidArguments(
            f"query: write at most {QUERY_FIELDS} parameters, percent-encoded in UTF-8", field="query"
        ) from None
    given: dict[str, str] = {}
    for name, value in pairs:
        if name in given:
            raise InvalidArguments(f"{name}: given twice in the query", field=name)
        given[name] = value
    try:
        return msgspec.convert(given, shape, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(error, "query parameter") from None


async def read_body(visit: Visit, body: Body) -> Any:
    """The body as the route declares it: a struct, or an upload.

    Raises:
        Unreadable: it is of a type, or in an encoding, that is not taken here.
        TooLarge: it is past the limit.
        InvalidArguments: it is not the JSON that is expected.
        Gone: the client left.
    """
    encoding = visit.header(b"content-encoding") or "identity"
    if encoding.strip().lower() != "identity":
        raise Unreadable(f"Content-Encoding: {encoding[:40]!r} is not taken; send the body as it is")
    media, _, parameters = (visit.header(b"content-type") or body.default).partition(";")
    media = media.strip().lower()
    is_json = body.shape is not None and media == JSON
    if not is_json and not _is_taken(media, body.raw):
        accepted = " or ".join([*([JSON] if body.shape is not None else []), *body.raw])
        raise Unreadable(f"Content-Type: send {accepted}, not {media[:80] or 'nothing'!r}", field="Content-Type")
    content = await _receive(visit, body.limit)
    if not is_json or body.shape is None:
        return Upload(content, media, parameters.strip())
    return _decode(content, body.shape)


def read_precondition(visit: Visit) -> Precondition:
    """What If-Match and If-None-Match say.

    Raises:
        InvalidArguments: they cannot be read, and a condition must not be passed over.
    """
    absent = visit.header(b"if-none-match")
    if absent is not None and absent.strip() != "*":
        raise InvalidArguments("If-None-Match: only * is understood for a change", field="If-None-Match")
    match = visit.header(b"if-match")
    if match is None:
        return Precondition(if_absent=absent is not None)
    if not match.strip():
        raise InvalidArguments("If-Match: names no entity tag; leave it out, or write * for any", field="If-Match")
    tags = ("*",) if match.strip() == "*" else read_tags(match, "If-Match")
    return Precondition(tags, absent is not None)


def read_tags(text: str, field: str) -> tuple[str, ...]:
    """The strong entity tags of a list; weak ones match nothing where a change is at stake.

    Raises:
        InvalidArguments: it is no such list.
    """
    tags: list[str] = []
    at = 0
    while at < len(text):
        found = _ETAG.match(text, at)
        if found is None:
            raise InvalidArguments(f'{field}: write entity tags in quotes, as in "2fbe9c…"', field=field)
        at = found.end()
        if not found["weak"]:
            tags.append(found["tag"])
    return tuple(tags)


def read_key(visit: Visit) -> str:
    """The idempotency key, empty when there is none.

    Raises:
        InvalidArguments: it cannot be one.
    """
    key = visit.header(b"idempotency-key")
    if key is None:
        return ""
    if not KEY.fullmatch(key):
        raise InvalidArguments(
            "Idempotency-Key: write 1 to 255 visible ASCII characters without spaces", field="Idempotency-Key"
        )
    return key


def _is_taken(media: str, raw: tuple[str, ...]) -> bool:
    return media in raw or f"{media.partition('/')[0]}/*" in raw


async def _receive(visit: Visit, limit: int) -> bytes:
    declared = visit.raw_header(b"content-length")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(f"the body has {int(declared)} bytes, the limit is {limit}", limit=limit)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await visit.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise TooLarge(f"the body has more than {limit} bytes, which is the limit", limit=limit)
        if not message.get("more_body"):
            return b"".join(parts)


def _decode(content: bytes, shape: type[msgspec.Struct]) -> Any:
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.ValidationError as error:
        raise _invalid(error, "field") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidArguments("body: this is not JSON in UTF-8", field="body") from None


def _invalid(error: msgspec.ValidationError, noun: str) -> InvalidArguments:
    """The failure with the field it is about in front."""
    found = _AT.match(str(error))
    what, field = (str(error), "") if found is None else (found["what"], found["field"])
    named = _NAMED.search(what)
    if named is not None:
        field = f"{field}.{named['name']}" if field else named["name"]
        what = _REASONS[named["why"]].format(noun=noun)
    return InvalidArguments(f"{field or 'body'}: {what}", field=field or "body")


_NAMED: Final = re.compile(r"Object (?P<why>contains unknown|missing required) field `(?P<name>.*)`$", re.DOTALL)
_REASONS: Final[Mapping[str, str]] = {
    "contains unknown": "no such {noun} here",
    "missing required": "this {noun} is required",
}
