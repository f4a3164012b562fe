"""Feeds JSON to a document builder; allows comments and trailing commas, which the files people paste from have.

YAML contains JSON only almost: tabs and escaped surrogate pairs, both common in pasted blocks, are refused there.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from limen.config.document import BadText, Builder, Mark

__all__ = ["NotJson", "Piece", "read_json", "scan_json"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
      | (?P<sign>[{}\[\],:])
      | (?P<bare>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.+-])""",
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile("\n")
_CLOSES: Final = {"{": "}", "[": "]"}


class NotJson(BadText):
    """The text breaks the grammar of JSON; it may still be YAML."""


class Piece(NamedTuple):
    """A run of the text: `space` (comments too), `string`, `sign` or `bare`, and the offset it begins at."""

    kind: str
    text: str
    start: int


class _Token(NamedTuple):
    kind: str
    text: str
    at: Mark


def read_json(text: str, builder: Builder) -> None:
    """Read one JSON value.

    Raises:
        NotJson: the text is not JSON.
        BadText: it is, and is more than settings need.
    """
    tokens = _tokens(text)
    open_signs: list[str] = []
    token = next(tokens)
    while True:
        if token.text in _CLOSES and token.kind == "sign":
            _open(token, builder)
            open_signs.append(token.text)
            token = next(tokens)
            if token.text != _CLOSES[open_signs[-1]] or token.kind != "sign":
                token = _key(token, tokens, builder) if open_signs[-1] == "{" else token
                continue
        else:
            _scalar(token, builder)
            token = next(tokens)
        token = _after_value(token, tokens, open_signs, builder)
        if not open_signs:
            break
        token = _key(token, tokens, builder) if open_signs[-1] == "{" else token
    if token.kind != "end":
        raise NotJson("something follows the end of the JSON", "remove it", token.at)


def _after_value(token: _Token, tokens: Iterator[_Token], open_signs: list[str], builder: Builder) -> _Token:
    """Close what ends here; the first token of the next member, or what follows the whole value."""
    while open_signs:
        closing = _CLOSES[open_signs[-1]]
        had_comma = token.kind == "sign" and token.text == ","
        if had_comma:
            token = next(tokens)
        if token.kind != "sign" or token.text != closing:
            if had_comma:
                return token
            raise NotJson(f"expected `,` or `{closing}` in the JSON", "add what is missing before this place", token.at)
        builder.close()
        open_signs.pop()
        token = next(tokens)
    return token


def _key(token: _Token, tokens: Iterator[_Token], builder: Builder) -> _Token:
    """Take `"key":`; the first token of its value."""
    if token.kind != "string":
        raise NotJson("expected a key in double quotes in the JSON", 'write it as "key": value', token.at)
    _scalar(token, builder)
    colon = next(tokens)
    if colon.kind != "sign" or colon.text != ":":
        raise NotJson("expected `:` after a key in the JSON", 'write it as "key": value', colon.at)
    return next(tokens)


def _open(token: _Token, builder: Builder) -> None:
    if token.text == "{":
        builder.open_table(token.at)
    else:
        builder.open_items(token.at)


def _scalar(token: _Token, builder: Builder) -> None:
    if token.kind not in {"string", "bare"}:
        found = "the text ends" if token.kind == "end" else f"`{token.text}` stands"
        raise NotJson(f"{found} where the JSON needs a value", "add the value, or remove what asks for it", token.at)
    if token.kind == "bare":
        builder.scalar(token.text, token.at, is_quoted=False)
        return
    try:
        value = msgspec.json.decode(token.text, type=str)
    except msgspec.DecodeError as error:
        raise NotJson("a string with an escape that JSON does not have", "mend or remove the `\\`", token.at) from error
    builder.scalar(value, token.at, is_quoted=True)


def scan_json(text: str, start: int = 0) -> Iterator[Piece]:
    """Every piece of the text from `start` on, in order; whether they make up a value is not checked.

    Raises:
        NotJson: something here is in no JSON.
    """
    at = start
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            place = Mark(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
            raise NotJson("this is not JSON", "mend what stands here", place)
        yield Piece(found.lastgroup or "", found[0], at)
        at = found.end()


def _tokens(text: str) -> Iterator[_Token]:
    ends = [found.start() for found in _LINE_END.finditer(text)]

    def mark(offset: int) -> Mark:
        line = bisect_right(ends, offset - 1)
        return Mark(line + 1, offset - (ends[line - 1] if line else -1))

    for kind, found, start in scan_json(text):
        if kind != "space":
            yield _Token(kind, found, mark(start))
    end = _Token("end", "", mark(len(text)))
    while True:
        yield end
